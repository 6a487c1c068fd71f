// An independent view of the narrow floats for tests: every finite value decoded with ldexp, and rounding by
// search for the nearest neighbour. Slow, obvious, and without a line in common with narrow_float.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gpuforge/base/half.h"

namespace gpuforge {

struct NarrowFacts {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_infinity;
  bool saturates;
};

template <typename T>
inline constexpr NarrowFacts kFacts = {};
template <>
inline constexpr NarrowFacts kFacts<Half> = {5, 10, 15, true, false};
template <>
inline constexpr NarrowFacts kFacts<BFloat16> = {8, 7, 127, true, false};
template <>
inline constexpr NarrowFacts kFacts<Float8E4M3> = {4, 3, 7, false, true};
template <>
inline constexpr NarrowFacts kFacts<Float8E5M2> = {5, 2, 15, true, true};

template <typename T>
double decode_slowly(unsigned code) {
  constexpr NarrowFacts f = kFacts<T>;
  const unsigned mantissa = code % (1u << f.mantissa_bits);
  const unsigned exponent = (code >> f.mantissa_bits) % (1u << f.exponent_bits);
  const bool negative = (code >> (f.mantissa_bits + f.exponent_bits)) != 0;
  const unsigned top = (1u << f.exponent_bits) - 1;
  double value = 0;
  if (exponent == top && f.has_infinity) {
    value = mantissa == 0 ? HUGE_VAL : std::nan("");
  } else if (exponent == top && mantissa == (1u << f.mantissa_bits) - 1) {
    value = std::nan("");
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  } else {
    value =
        std::ldexp(mantissa + (1u << f.mantissa_bits), static_cast<int>(exponent) - f.bias - f.mantissa_bits);
  }
  return negative ? -value : value;
}

// Finite values from zero up; the index is the code.
template <typename T>
std::vector<double> finite_values() {
  std::vector<double> values;
  for (unsigned code = 0; std::isfinite(decode_slowly<T>(code)); ++code)
    values.push_back(decode_slowly<T>(code));
  return values;
}

// The code nearest to `value`, ties to the even code; `values` is finite_values<T>(). In long double, whose
// 64 bits hold every double and every 64-bit integer, and the distances between them that decide here.
template <typename T>
unsigned round_slowly(const std::vector<double>& values, long double value) {
  constexpr NarrowFacts f = kFacts<T>;
  const unsigned sign = 1u << (f.exponent_bits + f.mantissa_bits);
  if (std::isnan(value)) return sign - 1;
  const unsigned sign_bit = std::signbit(value) ? sign : 0;
  const long double absolute = std::fabs(value);
  const auto last = static_cast<unsigned>(values.size() - 1);
  // Rounding sees the next value there would be beyond the largest; reaching it is an overflow.
  const long double beyond = static_cast<long double>(values[last]) * 2 - values[last - 1];
  const unsigned overflow = f.saturates ? last : last + 1;
  if (absolute >= beyond) return sign_bit | overflow;
  const auto above =
      static_cast<unsigned>(std::lower_bound(values.begin(), values.end(), absolute) - values.begin());
  if (above <= last && values[above] == absolute) return sign_bit | above;
  const long double middle = (values[above - 1] + (above <= last ? values[above] : beyond)) / 2;
  unsigned code = absolute < middle ? above - 1 : above;
  if (absolute == middle && (above - 1) % 2 == 0) code = above - 1;
  return sign_bit | (code > last ? overflow : code);
}

}  // namespace gpuforge
