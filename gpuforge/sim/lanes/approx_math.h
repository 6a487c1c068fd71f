// Elementary functions in double, without jumps, so that a loop over them becomes vector code. Each is good
// to about 2^-34 of its value, which leaves 10 bits beyond a float. Additions, multiplications and divisions
// only, none of them fused, so every machine gives the same bits.
#pragma once

#include <bit>
#include <cstdint>

#include "gpuforge/sim/lanes/float_bits.h"

namespace gpuforge::sim {

// Added to and taken from a double below 2^51, it rounds to the nearest integer and leaves that integer in
// the sum's low bits.
inline constexpr double kToInteger = 0x1.8p52;

// (2^f - 1) / f, interpolated at the Chebyshev nodes of [-1/2, 1/2]: 2^0 stays 1.
inline constexpr double kExp2[] = {0x1.62e42fefa39efp-1, 0x1.ebfbe045f4d3cp-3,  0x1.c6b08d883dca1p-5,
                                   0x1.3b2a1b7152befp-7, 0x1.5d879ead06a82p-10, 0x1.443fffc90db59p-13,
                                   0x1.00a581594758ep-16};

// 2^x for -1000 < x < 1000.
inline double exp2_core(double x) {
  const double shifted = x + kToInteger;
  const double f = x - (shifted - kToInteger);
  const double f2 = f * f;
  const double low = (1.0 + f * kExp2[0]) + f2 * (kExp2[1] + f * kExp2[2]);
  const double high = (kExp2[3] + f * kExp2[4]) + f2 * (kExp2[5] + f * kExp2[6]);
  const double p = low + (f2 * f2) * high;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) +
                               (std::bit_cast<std::uint64_t>(shifted) << 52));
}

// 2^x of any float as a float; NaN when x is.
inline float exp2_approx(float x) {
  // Beyond these the conversion to float gives 0 and infinity.
  constexpr auto kLow = std::bit_cast<std::uint32_t>(-160.0f);
  constexpr auto kHigh = std::bit_cast<std::uint32_t>(130.0f);
  const std::uint32_t above = select32(x < -160.0f, kLow, std::bit_cast<std::uint32_t>(x));
  const std::uint32_t within = select32(x > 130.0f, kHigh, above);
  const auto power = static_cast<float>(exp2_core(static_cast<double>(std::bit_cast<float>(within))));
  return std::bit_cast<float>(select32(x != x, kNaN32, std::bit_cast<std::uint32_t>(power)));
}

// tanh of any float as a float; NaN when x is.
inline float tanh_approx(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & ~kSign32;
  constexpr auto kTwenty = std::bit_cast<std::uint32_t>(20.0f);
  const auto x = static_cast<double>(std::bit_cast<float>(select32(magnitude > kTwenty, kTwenty, magnitude)));
  constexpr double kMinusTwoOverLn2 = -0x1.71547652b82fep+1;
  const double power = exp2_core(x * kMinusTwoOverLn2);
  const auto quotient = static_cast<float>((1.0 - power) / (1.0 + power));
  // 1 - power loses what a small x has; there the series is exact enough.
  const double z = x * x;
  const auto series = static_cast<float>(x * (1.0 + z * (-1.0 / 3 + z * (2.0 / 15 - z * (17.0 / 315)))));
  constexpr auto kSmall = std::bit_cast<std::uint32_t>(0x1p-4f);
  const std::uint32_t result = select32(magnitude < kSmall, std::bit_cast<std::uint32_t>(series),
                                        std::bit_cast<std::uint32_t>(quotient));
  return std::bit_cast<float>(select32(magnitude > kInfinity32, kNaN32, result | (bits & kSign32)));
}

// 2/ln 2 * atanh(t) / t as a series in t^2.
inline constexpr double kLog2[] = {0x1.71547652b82fep+1, 0x1.ec709dc3a03fdp-1, 0x1.2776c50ef9bfep-1,
                                   0x1.a61762a7aded9p-2, 0x1.484b13d7c02a9p-2, 0x1.0c9a84994022dp-2,
                                   0x1.c68f568d31760p-3};

// log2 of a positive normal double of moderate exponent.
inline double log2_core(double x) {
  // x = 2^k m with m in [sqrt(1/2), sqrt(2)): the top bits after taking sqrt(1/2) away count k, here plus
  // 1023.
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcdu;
  constexpr std::uint64_t kBias = std::uint64_t{1023} << 52;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t biased = (bits - kRootHalf + kBias) >> 52;
  const double m = std::bit_cast<double>(bits - (biased << 52) + kBias);
  // An integer below 2^52 in the mantissa of 2^52 is its own conversion.
  const double k = std::bit_cast<double>(biased | 0x4330000000000000u) - (0x1p52 + 1023.0);
  const double t = (m - 1.0) / (m + 1.0);
  const double z = t * t;
  const double low = (kLog2[0] + z * kLog2[1]) + (z * z) * (kLog2[2] + z * kLog2[3]);
  const double high = (kLog2[4] + z * kLog2[5]) + (z * z) * kLog2[6];
  return k + t * (low + (z * z) * (z * z) * high);
}

// pi/2 in two parts; a multiple of the first up to 2^20 is exact.
inline constexpr double kHalfPiHigh = 0x1.921fb54400000p+0;
inline constexpr double kHalfPiLow = 0x1.0b4611a626331p-34;
inline constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
inline constexpr double kLargestReduced = 0x1p20;
inline constexpr double kSine[] = {-0x1.5555555555555p-3, 0x1.1111111111111p-7, -0x1.a01a01a01a01ap-13,
                                   0x1.71de3a556c734p-19, -0x1.ae64567f544e4p-26};
inline constexpr double kCosine[] = {-0x1.0000000000000p-1, 0x1.5555555555555p-5,   -0x1.6c16c16c16c17p-10,
                                     0x1.a01a01a01a01ap-16, -0x1.27e4fb7789f5cp-22, 0x1.1eed8eff8d898p-29};

// sin(x + quarters * pi/2) for |x| up to kLargestReduced.
inline double sine_core(double x, std::uint64_t quarters) {
  const double shifted = x * kTwoOverPi + kToInteger;
  const double n = shifted - kToInteger;
  const double r = (x - n * kHalfPiHigh) - n * kHalfPiLow;
  const double z = r * r;
  const double sine =
      r + r * z * (kSine[0] + z * (kSine[1] + z * (kSine[2] + z * (kSine[3] + z * kSine[4]))));
  const double cosine =
      1.0 + z * (kCosine[0] +
                 z * (kCosine[1] + z * (kCosine[2] + z * (kCosine[3] + z * (kCosine[4] + z * kCosine[5])))));
  const std::uint64_t quadrant = std::bit_cast<std::uint64_t>(shifted) + quarters;
  // Selected by bits: the compiler would turn ?: into a jump around one of the series.
  const std::uint64_t odd = 0 - (quadrant & 1);
  const std::uint64_t value =
      (std::bit_cast<std::uint64_t>(cosine) & odd) | (std::bit_cast<std::uint64_t>(sine) & ~odd);
  return std::bit_cast<double>(value ^ ((quadrant & 2) << 62));
}

}  // namespace gpuforge::sim
