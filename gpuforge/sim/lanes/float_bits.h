// What PTX adds to IEEE arithmetic, on the bits of f32 and f64: the GPU's NaNs, .ftz and .sat.
#pragma once

#include <bit>
#include <cstdint>

namespace gpuforge::sim {

inline constexpr std::uint32_t kNaN32 = 0x7fffffffu;
inline constexpr std::uint32_t kSign32 = 0x80000000u;
inline constexpr std::uint32_t kInfinity32 = 0x7f800000u;
inline constexpr std::uint32_t kOne32 = 0x3f800000u;
inline constexpr std::uint64_t kNaN64 = 0xfff8000000000000u;  // of an invalid operation
inline constexpr std::uint64_t kQuiet64 = 0x0008000000000000u;
inline constexpr std::uint64_t kSign64 = 0x8000000000000000u;
inline constexpr std::uint64_t kInfinity64 = 0x7ff0000000000000u;

// A choice made with bits, where the compiler would turn ?: into a jump and a loop would stay scalar.
template <class Bits>
constexpr Bits select_bits(bool condition, Bits yes, Bits no) {
  const auto mask = static_cast<Bits>(Bits{0} - static_cast<Bits>(condition));
  return (yes & mask) | (no & ~mask);
}
constexpr std::uint32_t select32(bool condition, std::uint32_t yes, std::uint32_t no) {
  return select_bits(condition, yes, no);
}

constexpr bool is_nan32(std::uint32_t bits) {
  return (bits & ~kSign32) > kInfinity32;
}
constexpr bool is_nan64(std::uint64_t bits) {
  return (bits & ~kSign64) > kInfinity64;
}

// Subnormals to zero of the same sign, when Ftz.
template <bool Ftz>
constexpr std::uint32_t flush32(std::uint32_t bits) {
  if constexpr (!Ftz) return bits;
  return (bits & kInfinity32) != 0 ? bits : bits & kSign32;
}
template <bool Ftz>
constexpr float input32(std::uint32_t bits) {
  return std::bit_cast<float>(flush32<Ftz>(bits));
}

// A result as the GPU gives it. .sat makes +0 of NaN and of -0.
template <bool Ftz, bool Sat>
constexpr std::uint32_t output32(float value) {
  const auto bits = flush32<Ftz>(std::bit_cast<std::uint32_t>(value));
  if constexpr (Sat) {
    const std::uint32_t clamped = value > 1.0f ? kOne32 : bits;
    return value > 0.0f ? clamped : 0u;
  } else {
    return value != value ? kNaN32 : bits;
  }
}

// The same for an operation whose result may be tiny and inexact. A GPU rounds as if exponents had no end,
// and flushes what is below the smallest normal number then: less than what rounds up to it on the host.
// `scaled` is the result 2^30 times as large, rounded to as many bits.
inline constexpr float kScale = 0x1p30f;
template <bool Ftz, bool Sat>
constexpr std::uint32_t output32(float value, float scaled) {
  if constexpr (!Ftz) return output32<Ftz, Sat>(value);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  // Scaled operands may pass the largest number, but not where the result is that small.
  const bool tiny = (scaled < 0 ? -scaled : scaled) < 0x1p-126f * kScale && (bits & ~kSign32) <= 0x00800000u;
  return output32<Ftz, Sat>(std::bit_cast<float>(tiny ? bits & kSign32 : bits));
}

constexpr double input64(std::uint64_t bits) {
  return std::bit_cast<double>(bits);
}

// f64 keeps the payload of the first NaN operand, made quiet. On a GPU it is the one that the assembler put
// first. Said here and not left to the host, whose choice depends on the order the compiler gave the
// operands.
constexpr std::uint64_t nan_of(std::uint64_t a, std::uint64_t otherwise) {
  return input64(a) != input64(a) ? a | kQuiet64 : otherwise;
}
constexpr std::uint64_t output64(double value, std::uint64_t a) {
  return value != value ? nan_of(a, kNaN64) : std::bit_cast<std::uint64_t>(value);
}
constexpr std::uint64_t output64(double value, std::uint64_t a, std::uint64_t b) {
  return value != value ? nan_of(a, nan_of(b, kNaN64)) : std::bit_cast<std::uint64_t>(value);
}
constexpr std::uint64_t output64(double value, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return value != value ? nan_of(a, nan_of(b, nan_of(c, kNaN64))) : std::bit_cast<std::uint64_t>(value);
}

// min and max order -0 before +0; a NaN loses against a number unless NaNWins. Works on any float format
// through its bits: Bits is the container, and the arguments are magnitudes with a sign bit on top.
template <class Bits, bool Max, bool NaNWins, bool XorSign>
constexpr Bits min_or_max(Bits a, Bits b, Bits sign_bit, Bits infinity, Bits nan) {
  const auto magnitude_mask = static_cast<Bits>(sign_bit - 1);
  const Bits sign = (a ^ b) & sign_bit;
  if constexpr (XorSign) {
    a &= magnitude_mask;
    b &= magnitude_mask;
  }
  const bool a_nan = (a & magnitude_mask) > infinity;
  const bool b_nan = (b & magnitude_mask) > infinity;
  // As unsigned numbers in the order of the values.
  const Bits a_order = (a & sign_bit) != 0 ? sign_bit + magnitude_mask - a : a + sign_bit;
  const Bits b_order = (b & sign_bit) != 0 ? sign_bit + magnitude_mask - b : b + sign_bit;
  Bits d = (a_order < b_order) != Max ? a : b;
  if constexpr (XorSign) d |= sign;
  if constexpr (NaNWins) return a_nan || b_nan ? nan : d;
  const Bits a_alone = XorSign ? static_cast<Bits>(a | sign) : a;
  const Bits b_alone = XorSign ? static_cast<Bits>(b | sign) : b;
  d = a_nan ? b_alone : d;
  d = b_nan ? a_alone : d;
  return a_nan && b_nan ? nan : d;
}

}  // namespace gpuforge::sim
