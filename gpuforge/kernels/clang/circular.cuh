// Circular functions and their inverses in double precision. Part of the prelude for clang.
#pragma once

namespace gpuforge_clang {

// The bits of 2/pi behind the point.
inline constexpr unsigned long long kTwoOverPi[19] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

// x less the nearest multiple of pi/2, as a sum of two, and that multiple modulo 4.
struct Reduced {
  double high;
  double low;
  int quarter;
};

inline constexpr double kHalfPi0 = 0x1.921fb54400000p+0;  // 33 bits each, so that products with k are exact
inline constexpr double kHalfPi1 = 0x1.0b4611a600000p-34;
inline constexpr double kHalfPi2 = 0x1.3198a2e037073p-69;

GPUFORGE_CORE Reduced reduce_small(double x) {
  const double k = __builtin_rint(x * 0.6366197723675814);
  const double a = __builtin_fma(-k, kHalfPi0, x);
  const double b = k * kHalfPi1;
  const double high = a - b;
  const double low = ((a - high) - b) - k * kHalfPi2;
  const double sum = high + low;
  return {sum, (high - sum) + low, static_cast<int>(static_cast<long long>(k) & 3)};
}

// Large x: its 53 bits times the 192 bits of 2/pi that matter; bits before them are multiples of 4.
GPUFORGE_CORE Reduced reduce_large(double x) {
  const unsigned long long bits = __builtin_bit_cast(unsigned long long, x);
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1075;  // x = mantissa * 2^exponent
  const unsigned long long mantissa = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
  // The window begins two bits above the point of the product; before the table's first bit come zeros.
  const int first = exponent - 2 + 64;
  const int word = first / 64 - 1;
  const int shift = first % 64;
  const auto bits_of = [](int i) -> unsigned long long { return i < 0 ? 0 : kTwoOverPi[i]; };
  const auto window = [&](int i) -> unsigned long long {
    const unsigned long long high = bits_of(word + i);
    return shift == 0 ? high : (high << shift) | (bits_of(word + i + 1) >> (64 - shift));
  };
  // The product modulo 2^192, its point two bits below the top.
  const unsigned long long w0 = window(0);
  const unsigned long long w1 = window(1);
  const unsigned long long w2 = window(2);
  const unsigned long long p2 = w2 * mantissa;
  const unsigned long long c2 = __umul64hi(w2, mantissa);
  const unsigned long long p1 = w1 * mantissa + c2;
  const unsigned long long c1 = __umul64hi(w1, mantissa) + (p1 < c2 ? 1 : 0);
  const unsigned long long p0 = w0 * mantissa + c1;
  unsigned long long whole = p0 >> 62;
  unsigned long long f0 = (p0 << 2) | (p1 >> 62);
  unsigned long long f1 = (p1 << 2) | (p2 >> 62);
  const bool up = (f0 >> 63) != 0;
  if (up) {  // to the nearest: the part becomes negative
    ++whole;
    f0 = ~f0;
    f1 = ~f1;
  }
  const double part = static_cast<double>(f0 >> 11) * 0x1p-53;
  const double part_low = static_cast<double>(((f0 & 0x7ff) << 53) | (f1 >> 11)) * 0x1p-117;
  double high = part * 1.5707963267948966;
  double low = __builtin_fma(part, 1.5707963267948966, -high) +
               __builtin_fma(part, 6.123233995736766e-17, part_low * 1.5707963267948966);
  const double sum = high + low;
  low = (high - sum) + low;
  high = sum;
  const bool negative = __builtin_signbit(x);
  int quarter = static_cast<int>(whole & 3);
  if (negative) quarter = (4 - quarter) & 3;
  const bool flip = up != negative;
  return {flip ? -high : high, flip ? -low : low, quarter};
}

GPUFORGE_CORE Reduced reduce(double x) {
  // Below 2^20 the multiple has 20 bits, which the 33-bit parts leave room for.
  return __builtin_fabs(x) < 0x1p20 ? reduce_small(x) : reduce_large(x);
}

// sin and cos of |r| <= pi/4 + a little, by their series.
GPUFORGE_CORE double sine_series(double r, double low) {
  const double z = r * r;
  double sum = 1.0 / 355687428096000.0;
  sum = __builtin_fma(sum, z, -1.0 / 1307674368000.0);
  sum = __builtin_fma(sum, z, 1.0 / 6227020800.0);
  sum = __builtin_fma(sum, z, -1.0 / 39916800.0);
  sum = __builtin_fma(sum, z, 1.0 / 362880.0);
  sum = __builtin_fma(sum, z, -1.0 / 5040.0);
  sum = __builtin_fma(sum, z, 1.0 / 120.0);
  sum = __builtin_fma(sum, z, -1.0 / 6.0);
  return r + __builtin_fma(sum * z, r, low * (1.0 - 0.5 * z));
}
GPUFORGE_CORE double cosine_series(double r, double low) {
  const double z = r * r;
  double sum = 1.0 / 20922789888000.0;
  sum = __builtin_fma(sum, z, -1.0 / 87178291200.0);
  sum = __builtin_fma(sum, z, 1.0 / 479001600.0);
  sum = __builtin_fma(sum, z, -1.0 / 3628800.0);
  sum = __builtin_fma(sum, z, 1.0 / 40320.0);
  sum = __builtin_fma(sum, z, -1.0 / 720.0);
  sum = __builtin_fma(sum, z, 1.0 / 24.0);
  const double half = 0.5 * z;
  const double rest = 1.0 - half;
  return rest + (((1.0 - rest) - half) + __builtin_fma(sum * z, z, -r * low));
}
GPUFORGE_CORE double sine_from(const Reduced& at, int quarter) {
  const double value = (quarter & 1) != 0 ? cosine_series(at.high, at.low) : sine_series(at.high, at.low);
  return (quarter & 2) != 0 ? -value : value;
}
GPUFORGE_CORE bool turns(double x) {
  return __builtin_fabs(x) < __builtin_inf();
}
GPUFORGE_CORE double sine(double x) {
  if (!turns(x)) return __builtin_nan("");
  if (__builtin_fabs(x) < 1e-8) return x;
  const Reduced at = reduce(x);
  return sine_from(at, at.quarter);
}
GPUFORGE_CORE double cosine(double x) {
  if (!turns(x)) return __builtin_nan("");
  const Reduced at = reduce(x);
  return sine_from(at, at.quarter + 1);
}
GPUFORGE_CORE double tangent(double x) {
  if (!turns(x)) return __builtin_nan("");
  if (__builtin_fabs(x) < 1e-8) return x;
  const Reduced at = reduce(x);
  return sine_from(at, at.quarter) / sine_from(at, at.quarter + 1);
}

// atan: x is turned by the nearest of 0, 1/8, ... 1 where tan is known as k/8, and the rest goes by the
// series.
GPUFORGE_CORE double arc_tangent(double x) {
  const double size = __builtin_fabs(x);
  const bool above_one = size > 1.0;
  const double t = above_one ? 1.0 / size : size;
  constexpr double kAngles[9] = {0.0,
                                 0.12435499454676144,
                                 0.24497866312686414,
                                 0.35877067027057225,
                                 0.4636476090008061,
                                 0.5585993153435624,
                                 0.6435011087932844,
                                 0.7188299996216245,
                                 0.7853981633974483};
  const int k = static_cast<int>(t * 8.0 + 0.5) & 15;
  const double step = k * 0.125;
  double angle = 0.0;
  for (int i = 1; i <= 8; ++i) angle = k == i ? kAngles[i] : angle;
  const double r = (t - step) / __builtin_fma(t, step, 1.0);
  const double z = r * r;
  double sum = -1.0 / 15.0;
  sum = __builtin_fma(sum, z, 1.0 / 13.0);
  sum = __builtin_fma(sum, z, -1.0 / 11.0);
  sum = __builtin_fma(sum, z, 1.0 / 9.0);
  sum = __builtin_fma(sum, z, -1.0 / 7.0);
  sum = __builtin_fma(sum, z, 1.0 / 5.0);
  sum = __builtin_fma(sum, z, -1.0 / 3.0);
  const double small = angle + __builtin_fma(sum * z, r, r);
  const double result = above_one ? 1.5707963267948966 - (small - 6.123233995736766e-17) : small;
  return x != x ? x : __builtin_copysign(result, x);
}
GPUFORGE_CORE double arc_tangent_2(double y, double x) {
  constexpr double kPi = 3.141592653589793;
  if (x != x || y != y) return x + y;
  const double height = __builtin_fabs(y);
  const double width = __builtin_fabs(x);
  double angle;
  if (height == 0.0) {
    angle = 0.0;
  } else if (height == __builtin_inf() && width == __builtin_inf()) {
    angle = 0.25 * kPi;
  } else {
    angle = arc_tangent(height / width);
  }
  if (__builtin_signbit(x)) angle = kPi - (angle - 1.2246467991473532e-16);
  return __builtin_copysign(angle, y);
}
GPUFORGE_CORE double arc_sine(double x) {
  if (!(__builtin_fabs(x) <= 1.0)) return __builtin_nan("");
  return arc_tangent_2(x, __builtin_sqrt((1.0 - x) * (1.0 + x)));
}
GPUFORGE_CORE double arc_cosine(double x) {
  if (!(__builtin_fabs(x) <= 1.0)) return __builtin_nan("");
  return 2.0 * arc_tangent_2(__builtin_sqrt(1.0 - x), __builtin_sqrt(1.0 + x));
}

// sin(pi x) and cos(pi x): here the reduction is exact.
GPUFORGE_CORE Reduced reduce_half_turns(double x) {
  const double k = __builtin_rint(2.0 * x);
  const double part = __builtin_fma(-0.5, k, x);
  const double high = part * 0x1.921fb54442d18p+1;
  const double low = __builtin_fma(part, 0x1.921fb54442d18p+1, -high) + part * 0x1.1a62633145c07p-53;
  const double turn = k - 4.0 * __builtin_floor(0.25 * k);  // k of huge x is a multiple of 4
  return {high, low, static_cast<int>(turn)};
}
GPUFORGE_CORE double sine_of_half_turns(double x) {
  if (!turns(x)) return __builtin_nan("");
  if (__builtin_trunc(x) == x) return __builtin_copysign(0.0, x);
  const Reduced at = reduce_half_turns(x);
  return sine_from(at, at.quarter);
}
GPUFORGE_CORE double cosine_of_half_turns(double x) {
  if (!turns(x)) return __builtin_nan("");
  const Reduced at = reduce_half_turns(x);
  const double value = sine_from(at, at.quarter + 1);
  return value == 0.0 ? 0.0 : value;
}

}  // namespace gpuforge_clang
