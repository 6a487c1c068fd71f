// Element types: names, sizes, and the exact conversion between any two of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/base/half.h"

namespace gpuforge {

enum class DType : std::uint8_t { f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u8, boolean };

inline constexpr std::array kAllDTypes = {DType::f64,    DType::f32,    DType::f16, DType::bf16,
                                          DType::f8e4m3, DType::f8e5m2, DType::i64, DType::i32,
                                          DType::i16,    DType::i8,     DType::u8,  DType::boolean};

// "f32", "bf16", "bool", ...
std::string_view name(DType dtype);
// The short names above, and what users of NumPy, torch and CUDA type: float32, half, float8_e4m3fn, int, ...
std::optional<DType> parse_dtype(std::string_view text);
std::size_t element_bytes(DType dtype);
bool is_floating(DType dtype);
bool is_integer(DType dtype);  // bool is neither

template <typename T>
inline constexpr bool kIsNarrowFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> ||
                                       std::is_same_v<T, Float8E4M3> || std::is_same_v<T, Float8E5M2>;

template <typename T>
constexpr DType dtype_of();
// clang-format off: tables read best as tables
template <>
constexpr DType dtype_of<double>() {
  return DType::f64;
}
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<Half>() {
  return DType::f16;
}
template <>
constexpr DType dtype_of<BFloat16>() {
  return DType::bf16;
}
template <>
constexpr DType dtype_of<Float8E4M3>() {
  return DType::f8e4m3;
}
template <>
constexpr DType dtype_of<Float8E5M2>() {
  return DType::f8e5m2;
}
template <>
constexpr DType dtype_of<std::int64_t>() {
  return DType::i64;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
  return DType::i32;
}
template <>
constexpr DType dtype_of<std::int16_t>() {
  return DType::i16;
}
template <>
constexpr DType dtype_of<std::int8_t>() {
  return DType::i8;
}
template <>
constexpr DType dtype_of<std::uint8_t>() {
  return DType::u8;
}
template <>
constexpr DType dtype_of<bool>() {
  return DType::boolean;
}

// Calls f with a std::type_identity of the C++ type that holds one element.
template <typename F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f(std::type_identity<double>{});
    case DType::f32:
      return f(std::type_identity<float>{});
    case DType::f16:
      return f(std::type_identity<Half>{});
    case DType::bf16:
      return f(std::type_identity<BFloat16>{});
    case DType::f8e4m3:
      return f(std::type_identity<Float8E4M3>{});
    case DType::f8e5m2:
      return f(std::type_identity<Float8E5M2>{});
    case DType::i64:
      return f(std::type_identity<std::int64_t>{});
    case DType::i32:
      return f(std::type_identity<std::int32_t>{});
    case DType::i16:
      return f(std::type_identity<std::int16_t>{});
    case DType::i8:
      return f(std::type_identity<std::int8_t>{});
    case DType::u8:
      return f(std::type_identity<std::uint8_t>{});
    case DType::boolean:
      return f(std::type_identity<bool>{});
  }
  throw Error(ErrorCode::internal, "dtype: not a value of the enumeration");
}
// clang-format on

}  // namespace gpuforge
