// Elementary functions in double precision, from their series: what math.cuh is made of. Errors stay within
// a few units of the last place of double, so a float made from one is nearly always the nearest. Part of the
// prelude for clang.
#pragma once

namespace gpuforge_clang {

inline constexpr double kLn2High = 0x1.62e42fefa38p-1;  // 42 bits: times an exponent it is exact
inline constexpr double kLn2Low = 0x1.ef35793c7673p-45;
inline constexpr double kInfinity = __builtin_inf();

GPUFORGE_CORE double fused(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}

// 2^n for -1022 <= n <= 1023.
GPUFORGE_CORE double power_of_two(int n) {
  return __builtin_bit_cast(double, static_cast<unsigned long long>(n + 1023) << 52);
}

// x * 2^n, rounded once: several steps where one would leave the range.
GPUFORGE_CORE double scaled(double x, int n) {
  if (n > 3000) n = 3000;
  if (n < -3000) n = -3000;
  for (; n > 1023; n -= 1023) x *= 0x1p1023;
  for (; n < -1022; n += 969) x *= 0x1p-969;  // what this rounds is too small to matter after the next step
  return x * power_of_two(n);
}

// (e^r - 1 - r) / r^2 for |r| <= 0.35, by the exponential series.
GPUFORGE_CORE double exp_tail(double r) {
  double sum = 1.0 / 6227020800.0;
  sum = fused(sum, r, 1.0 / 479001600.0);
  sum = fused(sum, r, 1.0 / 39916800.0);
  sum = fused(sum, r, 1.0 / 3628800.0);
  sum = fused(sum, r, 1.0 / 362880.0);
  sum = fused(sum, r, 1.0 / 40320.0);
  sum = fused(sum, r, 1.0 / 5040.0);
  sum = fused(sum, r, 1.0 / 720.0);
  sum = fused(sum, r, 1.0 / 120.0);
  sum = fused(sum, r, 1.0 / 24.0);
  sum = fused(sum, r, 1.0 / 6.0);
  return fused(sum, r, 0.5);
}

// e^(x + low), low being a small correction of x.
GPUFORGE_CORE double exponential(double x, double low = 0.0) {
  if (x != x) return x;
  if (x > 710.0) return kInfinity;
  if (x < -746.0) return 0.0;
  const double k = __builtin_rint(x * 1.4426950408889634);
  double r = fused(-k, kLn2High, x);
  r = fused(-k, kLn2Low, r) + low;
  return scaled(1.0 + fused(exp_tail(r), r * r, r), static_cast<int>(k));
}

GPUFORGE_CORE double exponential_minus_one(double x) {
  if (__builtin_fabs(x) < 0.35) return fused(exp_tail(x), x * x, x);
  return exponential(x) - 1.0;
}

GPUFORGE_CORE double exponential_of_two(double x) {
  if (x != x) return x;
  if (x >= 1024.0) return kInfinity;
  if (x < -1075.0) return 0.0;
  const double k = __builtin_rint(x);
  const double part = x - k;
  const double r = part * 0.6931471805599453;
  const double low = fused(part, 0.6931471805599453, -r) + part * 0x1.abc9e3b39803fp-56;
  return scaled(1.0 + (fused(exp_tail(r), r * r, low) + r), static_cast<int>(k));
}

struct Sum {
  double high;
  double low;
};

// ln x as an exponent and the logarithm of a fraction between sqrt(1/2) and sqrt(2), whose series in
// s = (f - 1) / (f + 1) is 2 (s + s^3/3 + s^5/5 + ...).
struct Logarithm {
  double exponent;
  Sum fraction;
};
GPUFORGE_CORE Logarithm logarithm_parts(double x) {
  int exponent = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    exponent = -54;
  }
  unsigned long long bits = __builtin_bit_cast(unsigned long long, x);
  exponent += static_cast<int>(bits >> 52) - 1023;
  double f = __builtin_bit_cast(double, (bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (f > 1.4142135623730951) {
    f *= 0.5;
    ++exponent;
  }
  const double above = f - 1.0;
  const double below = f + 1.0;
  const double lost = f - (below - 1.0);
  const double s = above / below;
  const double rest = (fused(-s, below, above) - s * lost) / below;
  const double z = s * s;
  double sum = 2.0 / 25.0;
  sum = fused(sum, z, 2.0 / 23.0);
  sum = fused(sum, z, 2.0 / 21.0);
  sum = fused(sum, z, 2.0 / 19.0);
  sum = fused(sum, z, 2.0 / 17.0);
  sum = fused(sum, z, 2.0 / 15.0);
  sum = fused(sum, z, 2.0 / 13.0);
  sum = fused(sum, z, 2.0 / 11.0);
  sum = fused(sum, z, 2.0 / 9.0);
  sum = fused(sum, z, 2.0 / 7.0);
  sum = fused(sum, z, 2.0 / 5.0);
  // The cubic term is the largest but one: a third of it is not exact, so its error is carried too.
  const double third = 2.0 / 3.0;
  const double cube = z * s;
  const double cube_low = fused(z, s, -cube) + fused(s, s, -z) * s;
  const double term = third * cube;
  const double term_low = fused(third, cube, -term) + third * cube_low + 0x1.5555555555555p-55 * cube;
  const double tail = fused(sum * z, cube, term_low) + 2.0 * rest;
  const double high = fused(2.0, s, term);
  const double low = (2.0 * s - high) + term + tail;
  return {static_cast<double>(exponent), {high, low}};
}

GPUFORGE_CORE Sum logarithm_sum(double x) {
  const Logarithm parts = logarithm_parts(x);
  const double base = parts.exponent * kLn2High;
  const double high = base + parts.fraction.high;
  const double low = (base - high) + parts.fraction.high + fused(parts.exponent, kLn2Low, parts.fraction.low);
  return {high, low};
}

GPUFORGE_CORE bool has_plain_logarithm(double x) {
  return x > 0.0 && x < kInfinity;
}
GPUFORGE_CORE double edge_logarithm(double x) {
  if (x == 0.0) return -kInfinity;
  return x > 0.0 ? x : __builtin_nan("");  // infinity; negative or NaN
}
GPUFORGE_CORE double logarithm(double x) {
  if (!has_plain_logarithm(x)) return edge_logarithm(x);
  const Sum sum = logarithm_sum(x);
  return sum.high + sum.low;
}
GPUFORGE_CORE double logarithm_2(double x) {
  if (!has_plain_logarithm(x)) return edge_logarithm(x);
  const Logarithm parts = logarithm_parts(x);
  const double product = parts.fraction.high * 1.4426950408889634;
  const double low =
      fused(parts.fraction.high, 1.4426950408889634, -product) +
      fused(parts.fraction.high, 0x1.777d0ffda0d24p-56, parts.fraction.low * 1.4426950408889634);
  const double high = parts.exponent + product;
  return high + ((parts.exponent - high) + product + low);
}
GPUFORGE_CORE double logarithm_10(double x) {
  if (!has_plain_logarithm(x)) return edge_logarithm(x);
  const Sum sum = logarithm_sum(x);
  const double product = sum.high * 0.4342944819032518;
  const double low = fused(sum.high, 0.4342944819032518, -product) +
                     fused(sum.high, 0x1.9dc1da994fd21p-59, sum.low * 0.4342944819032518);
  return product + low;
}
GPUFORGE_CORE double logarithm_of_one_plus(double x) {
  if (!(x > -1.0 && x < kInfinity)) return edge_logarithm(1.0 + x);
  const double u = 1.0 + x;
  if (u == 1.0) return x;
  const double lost = u > 2.0 ? 1.0 - (u - x) : x - (u - 1.0);
  return logarithm(u) + lost / u;
}

GPUFORGE_CORE bool is_whole(double y) {
  return __builtin_trunc(y) == y;
}
GPUFORGE_CORE bool is_odd(double y) {
  return is_whole(y) && __builtin_fabs(y) < 0x1p53 && (static_cast<long long>(y) & 1) != 0;
}
GPUFORGE_CORE double power(double x, double y) {
  if (y == 0.0 || x == 1.0) return 1.0;
  if (x != x || y != y) return x + y;
  const double size = __builtin_fabs(x);
  const bool negative = __builtin_signbit(x) && is_odd(y);
  const double sign = negative ? -1.0 : 1.0;
  if (__builtin_fabs(y) == kInfinity)
    return size == 1.0 ? 1.0 : ((size > 1.0) == (y > 0.0) ? kInfinity : 0.0);
  if (size == 0.0) return y > 0.0 ? sign * 0.0 : sign * kInfinity;
  if (size == kInfinity) return y > 0.0 ? sign * kInfinity : sign * 0.0;
  if (x < 0.0 && !is_whole(y)) return __builtin_nan("");
  const Sum log = logarithm_sum(size);
  const double high = y * log.high;
  if (high > 800.0) return sign * kInfinity;
  if (high < -800.0) return sign * 0.0;
  return sign * exponential(high, fused(y, log.high, -high) + y * log.low);
}

GPUFORGE_CORE double power_of_ten(double x) {
  return power(10.0, x);
}

// The root of a sum of squares is root / scale: squares may leave the range. Infinity beats NaN.
struct Length {
  double root;
  double scale;
};
template <typename T>
GPUFORGE_CORE Length length_parts(int count, const T* members) {
  double large = 0.0;
  for (int i = 0; i < count; ++i)
    large = __builtin_fmax(large, __builtin_fabs(static_cast<double>(members[i])));
  if (large == kInfinity) return {large, 1.0};
  const double scale = large > 0x1p500 ? 0x1p-600 : (large < 0x1p-450 ? 0x1p600 : 1.0);
  double sum = 0.0;
  double low = 0.0;
  for (int i = 0; i < count; ++i) {
    const double member = static_cast<double>(members[i]) * scale;
    const double square = __dmul_rn(member, member);  // not to be fused with the sum
    const double next = sum + square;
    const double added = next - sum;
    low += fused(member, member, -square) + ((sum - (next - added)) + (square - added));
    sum = next;
  }
  return {__builtin_sqrt(sum + low), scale};
}
template <typename T>
GPUFORGE_CORE double length_of(int count, const T* members) {
  const Length length = length_parts(count, members);
  return length.root / length.scale;
}
template <typename T>
GPUFORGE_CORE double reciprocal_length_of(int count, const T* members) {
  const Length length = length_parts(count, members);
  return length.scale / length.root;
}
GPUFORGE_CORE double length(double x, double y) {
  const double members[] = {x, y};
  return length_of(2, members);
}
GPUFORGE_CORE double reciprocal_length(double x, double y) {
  const double members[] = {x, y};
  return reciprocal_length_of(2, members);
}

GPUFORGE_CORE double hyperbolic_tangent(double x) {
  const double size = __builtin_fabs(x);
  if (size > 22.0) return __builtin_copysign(1.0, x);
  const double t = exponential_minus_one(2.0 * size);
  return __builtin_copysign(t / (t + 2.0), x) + (x != x ? x : 0.0);
}
GPUFORGE_CORE double hyperbolic_sine(double x) {
  const double size = __builtin_fabs(x);
  if (size > 709.0) return __builtin_copysign(exponential(size - 0.6931471805599453), x);
  const double t = exponential_minus_one(size);
  return size < 1e-8 ? x : __builtin_copysign(0.5 * (t + t / (t + 1.0)), x);
}
GPUFORGE_CORE double hyperbolic_cosine(double x) {
  const double size = __builtin_fabs(x);
  if (size > 709.0) return exponential(size - 0.6931471805599453);
  const double e = exponential(size);
  return 0.5 * e + 0.5 / e;
}

GPUFORGE_CORE double inverse_hyperbolic_sine(double x) {
  const double size = __builtin_fabs(x);
  if (!(size < kInfinity) || size == 0.0) return x;
  if (size > 0x1p28) return __builtin_copysign(logarithm(size) + 0.6931471805599453, x);
  const double square = size * size;
  return __builtin_copysign(logarithm_of_one_plus(size + square / (1.0 + __builtin_sqrt(square + 1.0))), x);
}
GPUFORGE_CORE double inverse_hyperbolic_cosine(double x) {
  if (!(x >= 1.0)) return __builtin_nan("");
  if (x > 0x1p28) return logarithm(x) + 0.6931471805599453;
  const double above = x - 1.0;
  return logarithm_of_one_plus(above + __builtin_sqrt(fused(above, above, 2.0 * above)));
}
GPUFORGE_CORE double inverse_hyperbolic_tangent(double x) {
  const double size = __builtin_fabs(x);
  if (!(size <= 1.0)) return __builtin_nan("");
  if (size < 1e-9) return x;
  return __builtin_copysign(0.5 * logarithm_of_one_plus(2.0 * size / (1.0 - size)), x);
}

// A root from the logarithm, then one step of Newton's.
GPUFORGE_CORE double cube_root(double x) {
  const double size = __builtin_fabs(x);
  if (x == 0.0 || !(size < kInfinity)) return x;
  const double root = exponential(logarithm(size) * (1.0 / 3.0));
  const double better = root - (root - size / (root * root)) * (1.0 / 3.0);
  return __builtin_copysign(better, x);
}
GPUFORGE_CORE double reciprocal_cube_root(double x) {
  return 1.0 / cube_root(x);
}

}  // namespace gpuforge_clang

#include "gpuforge/kernels/clang/circular.cuh"
#include "gpuforge/kernels/clang/errors.cuh"
#include "gpuforge/kernels/clang/exact.cuh"
#include "gpuforge/kernels/clang/gamma.cuh"
