// The narrow floating-point formats on their bits: widening to f32, rounding from f32 in every mode, and the
// arithmetic of f16 and bf16. All selections and no jumps, so that loops over it become vector code.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "gpuforge/sim/lanes/float_bits.h"
#include "gpuforge/sim/lanes/rounding.h"

namespace gpuforge::sim {

// ---- Rounding to odd -----------------------------------------------------------------------------------
// Cut off, and the last bit set when something was lost: rounding such a number again, to at least two bits
// less, gives what rounding the exact one would.

// `nearest` is the exact value rounded to nearest and `error` what is missing, NaN where nearest is infinite
// or NaN.
template <class Float, class Bits = std::conditional_t<sizeof(Float) == 8, std::int64_t, std::int32_t>>
Float to_odd(Float nearest, Float error) {
  const auto bits = std::bit_cast<Bits>(nearest);
  const auto error_bits = std::bit_cast<Bits>(error);
  const Bits magnitude = error_bits & std::numeric_limits<Bits>::max();
  constexpr Bits kInfinity = std::bit_cast<Bits>(std::numeric_limits<Float>::infinity());
  const Bits lost = static_cast<Bits>(magnitude > 0) & static_cast<Bits>(magnitude < kInfinity);
  const Bits away = lost & static_cast<Bits>((bits ^ error_bits) < 0);
  return std::bit_cast<Float>((bits - away) | lost);
}
template <class Float>
Float add_to_odd(Float a, Float b) {
  const Float sum = a + b;
  const Float b_part = sum - a;
  return to_odd(sum, (a - (sum - b_part)) + (b - b_part));  // the exact error of the sum
}

// Overflow gives the largest float, which is odd; infinity itself stays.
inline float narrow_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const double error = value - static_cast<double>(nearest);  // NaN for infinity and NaN
  const auto bits = std::bit_cast<std::int32_t>(nearest);
  const std::int32_t lost = static_cast<std::int32_t>(error > 0) | static_cast<std::int32_t>(error < 0);
  const std::int32_t away = lost & static_cast<std::int32_t>((error < 0) == (bits >= 0));
  return std::bit_cast<float>((bits - away) | lost);
}

// ---- Formats -------------------------------------------------------------------------------------------

enum class Specials : std::uint8_t { infinity_and_nan, nan_only, none };

template <int ExponentBits, int MantissaBits, Specials Special>
struct NarrowBits {
  static constexpr int kDropped = 23 - MantissaBits;
  static constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
  static constexpr std::uint32_t kSign = 1u << (ExponentBits + MantissaBits);
  static constexpr std::uint32_t kMagnitude = kSign - 1;
  static constexpr std::uint32_t kInfinity = kMagnitude & ~((1u << MantissaBits) - 1);
  static constexpr std::uint32_t kLargest = Special == Specials::infinity_and_nan ? kInfinity - 1
                                            : Special == Specials::nan_only       ? kMagnitude - 1
                                                                                  : kMagnitude;
  // The GPU's one NaN; formats without any take the largest number for it.
  static constexpr std::uint32_t kNaN = kMagnitude;
  static constexpr std::uint32_t kOne = static_cast<std::uint32_t>(kBias) << MantissaBits;

  static constexpr bool is_nan(std::uint32_t bits) {
    if constexpr (Special == Specials::infinity_and_nan) return (bits & kMagnitude) > kInfinity;
    if constexpr (Special == Specials::nan_only) return (bits & kMagnitude) == kNaN;
    return false;
  }

  // Exact. NaN becomes f32's own, but bf16 is the upper half of an f32 and keeps its payload.
  static constexpr float widen(std::uint32_t bits) {
    if constexpr (ExponentBits == 8) {
      return std::bit_cast<float>(bits << kDropped);
    } else {
      const std::uint32_t magnitude = bits & kMagnitude;
      // Placed where an f32 has them, exponent and mantissa are off by the difference of the biases alone.
      const float scaled = std::bit_cast<float>(magnitude << kDropped) *
                           std::bit_cast<float>(static_cast<std::uint32_t>(127 + 127 - kBias) << 23);
      std::uint32_t wide = std::bit_cast<std::uint32_t>(scaled);
      if constexpr (Special == Specials::infinity_and_nan)
        wide = select32(magnitude == kInfinity, kInfinity32, wide);
      const std::uint32_t sign = (bits & kSign) << (31 - ExponentBits - MantissaBits);
      return std::bit_cast<float>(select32(is_nan(bits), kNaN32, wide | sign));
    }
  }

  // The number of this format that the f32 rounds to. What is too large becomes infinity or, when the mode
  // rounds towards zero there or Finite is asked, the largest number.
  template <Rounding Mode = Rounding::nearest, bool Finite = Special != Specials::infinity_and_nan>
  static constexpr std::uint32_t narrow(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & ~kSign32;
    const bool negative = (bits & kSign32) != 0;
    std::uint32_t kept = 0;
    if constexpr (kBias == 127) {
      kept = rounded<Mode>(magnitude, kDropped, negative);
    } else {
      const auto exponent = static_cast<std::int32_t>(magnitude >> 23) - 127 + kBias;
      const std::uint32_t fraction = magnitude & 0x7fffffu;
      const std::uint32_t significand = magnitude >= 0x800000u ? fraction | 0x800000u : fraction;
      // Below the normal range the unit stays put and more is shifted out; 25 leaves less than half a unit.
      const std::int32_t below = exponent > 0 ? 0 : 1 - exponent;
      const std::int32_t wanted = kDropped + below;
      const auto shift = static_cast<std::uint32_t>(wanted > 25 ? 25 : wanted);
      kept = rounded<Mode>(significand, shift, negative);
      // A carry out of the mantissa adds one to the exponent, which is the right neighbour in every case.
      const std::int32_t above = exponent > 0 ? exponent - 1 : 0;
      kept += static_cast<std::uint32_t>(above) << MantissaBits;
    }
    constexpr bool kTruncates = Finite || Mode == Rounding::zero;
    std::uint32_t overflow = kTruncates ? kLargest : kInfinity;
    if constexpr (!Finite && Mode == Rounding::down) overflow = negative ? kInfinity : kLargest;
    if constexpr (!Finite && Mode == Rounding::up) overflow = negative ? kLargest : kInfinity;
    kept = kept > kLargest ? overflow : kept;
    if constexpr (!Finite) kept = magnitude == kInfinity32 ? kInfinity : kept;
    const std::uint32_t sign = (bits & kSign32) >> (31 - ExponentBits - MantissaBits);
    return magnitude > kInfinity32 ? kNaN : kept | sign;
  }

  template <bool Ftz>
  static constexpr std::uint32_t flush(std::uint32_t bits) {
    if constexpr (!Ftz) return bits;
    return select32((bits & kInfinity) != 0, bits, bits & kSign);
  }
  // As .relu: what is negative, -0 included, becomes +0, but a NaN stays.
  static constexpr std::uint32_t relu(std::uint32_t bits) {
    return select32((bits & kSign) != 0 && !is_nan(bits), 0u, bits);
  }
  // As .sat: to [0, 1], NaN to +0.
  static constexpr std::uint32_t saturate(std::uint32_t bits) {
    const std::uint32_t clamped = select32(bits > kOne, kOne, bits);
    return select32((bits & kSign) != 0 || is_nan(bits), 0u, clamped);
  }

 private:
  template <Rounding Mode>
  static constexpr std::uint32_t rounded(std::uint32_t significand, std::uint32_t shift, bool negative) {
    const std::uint32_t kept = significand >> shift;
    if constexpr (Mode == Rounding::nearest)
      return (significand + ((1u << (shift - 1)) - 1) + (kept & 1)) >> shift;
    const std::uint32_t rest = significand & ((1u << shift) - 1);
    if constexpr (Mode == Rounding::down) return kept + static_cast<std::uint32_t>(negative && rest != 0);
    if constexpr (Mode == Rounding::up) return kept + static_cast<std::uint32_t>(!negative && rest != 0);
    return kept;
  }
};

using Float8E4M3Bits = NarrowBits<4, 3, Specials::nan_only>;
using Float8E5M2Bits = NarrowBits<5, 2, Specials::infinity_and_nan>;
using Float6E2M3Bits = NarrowBits<2, 3, Specials::none>;
using Float6E3M2Bits = NarrowBits<3, 2, Specials::none>;
using Float4E2M1Bits = NarrowBits<2, 1, Specials::none>;
using TensorFloat32Bits = NarrowBits<8, 10, Specials::infinity_and_nan>;  // in the upper bits of an f32

// Arithmetic on widened operands: results narrow() rounds as if from the exact value. Sums need no more than
// f32's 24 bits for that (2p + 2), nor do products of f16, which are exact.
struct HalfBits : NarrowBits<5, 10, Specials::infinity_and_nan> {
  static float add(float a, float b) { return a + b; }
  static float multiply(float a, float b) { return a * b; }
  static float multiply_add(float a, float b, float c) { return add_to_odd(a * b, c); }
};
// bf16 has f32's range: a product may leave it, and is exact only in double.
struct BFloat16Bits : NarrowBits<8, 7, Specials::infinity_and_nan> {
  static float add(float a, float b) { return a + b; }
  static float multiply(float a, float b) {
    return narrow_to_odd(static_cast<double>(a) * static_cast<double>(b));
  }
  static float multiply_add(float a, float b, float c) {
    const double product = static_cast<double>(a) * static_cast<double>(b);
    return narrow_to_odd(add_to_odd(product, static_cast<double>(c)));
  }
};

}  // namespace gpuforge::sim
