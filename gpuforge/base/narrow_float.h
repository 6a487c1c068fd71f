// The arithmetic behind half.h: one description of a narrow float, and both conversions from the bits.
// Private to base/: half.cpp gives it names, convert.cpp inlines it into loops.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "gpuforge/base/half.h"

namespace gpuforge::internal {

// A choice made with bits: the compiler would turn ?: around a floating operation into a jump.
constexpr std::int32_t select(bool condition, std::int32_t yes, std::int32_t no) {
  const std::int32_t mask = -static_cast<std::int32_t>(condition);
  return (yes & mask) | (no & ~mask);
}

template <int ExponentBits, int MantissaBits, bool HasInfinity, bool Saturates>
struct NarrowFormat {
  static constexpr int kMantissaBits = MantissaBits;
  static constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
  static constexpr std::uint64_t kExponentMask = (std::uint64_t{1} << ExponentBits) - 1;
  static constexpr std::uint64_t kMantissaMask = (std::uint64_t{1} << MantissaBits) - 1;
  static constexpr std::uint64_t kMagnitudeMask = (kExponentMask << MantissaBits) | kMantissaMask;
  // The GPU's one NaN: all magnitude bits set, sign clear.
  static constexpr std::uint64_t kNaN = kMagnitudeMask;
  static constexpr std::uint64_t kInfinity = kExponentMask << MantissaBits;
  // Without infinities the top exponent holds numbers too, all but the NaN.
  static constexpr std::uint64_t kLargest = HasInfinity ? kInfinity - 1 : kNaN - 1;
  static constexpr std::uint64_t kOverflow = Saturates ? kLargest : kInfinity;
  static_assert(HasInfinity || Saturates);

  static constexpr std::uint64_t narrow(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t sign = (bits >> 63) << (ExponentBits + MantissaBits);
    const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
    constexpr std::uint64_t kDoubleInfinity = std::uint64_t{0x7ff} << 52;
    if (magnitude > kDoubleInfinity) return kNaN;
    if (magnitude == kDoubleInfinity) return sign | kOverflow;

    // Subnormal doubles take the wrong significand here, which is harmless: they round to zero all the same.
    const std::uint64_t significand = (magnitude & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1} << 52);
    const std::int64_t exponent = static_cast<std::int64_t>(magnitude >> 52) - 1023 + kBias;
    // Below the normal range the unit stays put, so more of the significand is shifted out; 54 leaves
    // nothing.
    std::int64_t shift = 52 - MantissaBits + (exponent > 0 ? 0 : 1 - exponent);
    if (shift > 54) shift = 54;
    std::uint64_t kept = significand >> shift;
    const std::uint64_t lost = significand & ((std::uint64_t{1} << shift) - 1);
    const std::uint64_t tie = std::uint64_t{1} << (shift - 1);
    kept += static_cast<std::uint64_t>(lost > tie || (lost == tie && (kept & 1) != 0));
    // A carry out of the mantissa adds one to the exponent, which is the right neighbour in every case.
    if (exponent > 0) kept += static_cast<std::uint64_t>(exponent - 1) << MantissaBits;
    return sign | (kept > kLargest ? kOverflow : kept);
  }

  // The same from a float, all selections and no jumps, so that a loop over it becomes vector code.
  static constexpr std::uint32_t narrow(float value) {
    constexpr int kDropped = 23 - MantissaBits;
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 31) << (ExponentBits + MantissaBits);
    const auto magnitude = static_cast<std::int32_t>(bits & 0x7fffffff);
    const std::int32_t rounding = (1 << (kDropped - 1)) - 1 + ((magnitude >> kDropped) & 1);
    // The sum passes 2^31 for NaN alone, which is replaced below.
    const auto rounded = static_cast<std::int32_t>(
        (static_cast<std::uint32_t>(magnitude) + static_cast<std::uint32_t>(rounding)) >> kDropped);
    std::int32_t code = rounded - ((127 - kBias) << MantissaBits);
    if constexpr (kBias != 127) {
      // Adding a number whose last bit is worth the smallest step makes the adder round to whole steps.
      constexpr std::int32_t kStepNumber = (127 + 23 + 1 - kBias - MantissaBits) << 23;
      const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(kStepNumber);
      const std::int32_t steps = std::bit_cast<std::int32_t>(sum) - kStepNumber;
      code = select(magnitude < ((128 - kBias) << 23), steps, code);
    }
    code = select(code > static_cast<std::int32_t>(kLargest), static_cast<std::int32_t>(kOverflow), code);
    code |= static_cast<std::int32_t>(sign);
    return static_cast<std::uint32_t>(select(magnitude > 0x7f800000, static_cast<std::int32_t>(kNaN), code));
  }

  // Every narrow value is a float too, so this is exact.
  static constexpr float widen_to_float(std::uint32_t bits) {
    const std::uint32_t sign = (bits >> (ExponentBits + MantissaBits)) << 31;
    const auto magnitude = static_cast<std::int32_t>(bits & kMagnitudeMask);
    // Placed where a float has them, exponent and mantissa are off by the difference of the biases alone.
    std::int32_t wide = magnitude << (23 - MantissaBits);
    if constexpr (kBias != 127) {
      wide = std::bit_cast<std::int32_t>(std::bit_cast<float>(wide) *
                                         std::bit_cast<float>((127 + 127 - kBias) << 23));
    }
    const bool is_infinity = HasInfinity && magnitude == static_cast<std::int32_t>(kInfinity);
    const std::int32_t special = select(is_infinity, 0x7f800000, 0x7fc00000);
    wide = select(magnitude > static_cast<std::int32_t>(kLargest), special, wide);
    return std::bit_cast<float>(sign | static_cast<std::uint32_t>(wide));
  }

  static constexpr double widen(std::uint64_t bits) {
    const std::uint64_t sign = (bits >> (ExponentBits + MantissaBits)) << 63;
    const std::uint64_t magnitude = bits & kMagnitudeMask;
    if (magnitude > kLargest) {
      if (!HasInfinity || magnitude != kInfinity) return std::numeric_limits<double>::quiet_NaN();
      return std::bit_cast<double>(sign | (std::uint64_t{0x7ff} << 52));
    }
    const std::uint64_t exponent = magnitude >> MantissaBits;
    const std::uint64_t mantissa = magnitude & kMantissaMask;
    if (exponent == 0) {
      constexpr double kUnit =
          std::bit_cast<double>(static_cast<std::uint64_t>(1023 + 1 - kBias - MantissaBits) << 52);
      const double absolute = static_cast<double>(mantissa) * kUnit;
      return sign != 0 ? -absolute : absolute;
    }
    return std::bit_cast<double>(sign | ((exponent + 1023 - kBias) << 52) |
                                 (mantissa << (52 - MantissaBits)));
  }
};

template <typename T>
struct NarrowFormatOf;
template <>
struct NarrowFormatOf<Half> : NarrowFormat<5, 10, true, false> {};
template <>
struct NarrowFormatOf<BFloat16> : NarrowFormat<8, 7, true, false> {};
template <>
struct NarrowFormatOf<Float8E4M3> : NarrowFormat<4, 3, false, true> {};
template <>
struct NarrowFormatOf<Float8E5M2> : NarrowFormat<5, 2, true, true> {};

template <typename T, typename From>
constexpr T narrow(From value) {
  return T{static_cast<decltype(T::bits)>(NarrowFormatOf<T>::narrow(value))};
}

template <typename T>
constexpr double widen(T value) {
  return NarrowFormatOf<T>::widen(value.bits);
}

template <typename T>
constexpr float widen_to_float(T value) {
  return NarrowFormatOf<T>::widen_to_float(value.bits);
}

}  // namespace gpuforge::internal
