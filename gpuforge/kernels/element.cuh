// Elements of any dtype in device code: bool_t beside the types of half.cuh, and what each is computed with.
//   number(element)      float, double, int or long long: what conversions and arithmetic know
//   store_as<T>(value)   what is kept of a computed value: floats round once, integers wrap, bools are value
//                        != 0
#pragma once

#include "gpuforge/kernels/half.cuh"

namespace gpuforge {

// A bool as it lies in memory: any byte but zero is true.
struct bool_t {
  unsigned char byte;
};

template <typename T>
constexpr bool kIsNarrow = false;
template <>
constexpr bool kIsNarrow<half_t> = true;
template <>
constexpr bool kIsNarrow<bfloat16_t> = true;
template <>
constexpr bool kIsNarrow<float8_e4m3_t> = true;
template <>
constexpr bool kIsNarrow<float8_e5m2_t> = true;

template <typename T>
constexpr bool kIsBool = false;
template <>
constexpr bool kIsBool<bool_t> = true;

template <typename T>
__device__ inline auto number(T element) {
  return narrow::widen(element);
}
__device__ inline int number(bool_t element) {
  return element.byte != 0;
}

template <typename T, typename Value>
__device__ inline T store_as(Value value) {
  if constexpr (kIsBool<T>) {
    return {static_cast<unsigned char>(value != 0)};
  } else if constexpr (kIsNarrow<T>) {
    return T(value);
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace gpuforge
