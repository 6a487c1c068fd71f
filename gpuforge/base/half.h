// The narrow floating-point types as values: storage plus exact conversions, no arithmetic.
// Narrowing rounds to nearest even in one step from the source type. f16 and bf16 overflow to infinity;
// the fp8 types saturate to their largest finite value, infinities included, as the GPU's cvt.satfinite does.
// Every NaN narrows to the GPU's one NaN, 0x7fff or 0x7f, and widens to the quiet NaN.
#pragma once

#include <cstdint>

namespace gpuforge {

struct Half {
  std::uint16_t bits = 0;
  static Half from(double value);
  double to_double() const;
  friend bool operator==(Half, Half) = default;  // of the bits: NaN equals itself, -0 differs from 0
};

struct BFloat16 {
  std::uint16_t bits = 0;
  static BFloat16 from(double value);
  double to_double() const;
  friend bool operator==(BFloat16, BFloat16) = default;
};

// 1 sign, 4 exponent (bias 7), 3 mantissa bits; no infinity, NaN is 0x7f and 0xff, largest 448.
struct Float8E4M3 {
  std::uint8_t bits = 0;
  static Float8E4M3 from(double value);
  double to_double() const;
  friend bool operator==(Float8E4M3, Float8E4M3) = default;
};

// 1 sign, 5 exponent (bias 15), 2 mantissa bits; infinity 0x7c exists but narrowing never makes it, largest
// 57344.
struct Float8E5M2 {
  std::uint8_t bits = 0;
  static Float8E5M2 from(double value);
  double to_double() const;
  friend bool operator==(Float8E5M2, Float8E5M2) = default;
};

}  // namespace gpuforge
