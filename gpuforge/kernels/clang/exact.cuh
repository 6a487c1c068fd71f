// Functions whose results are exact: remainders, and parts of a number. Part of the prelude for clang.
#pragma once

namespace gpuforge_clang {

// |x| as whole * 2^exponent, whole < 2^53.
struct Scaled {
  unsigned long long whole;
  int exponent;
};
GPUFORGE_CORE Scaled parts_of(double x) {
  const unsigned long long bits = __builtin_bit_cast(unsigned long long, x);
  const int biased = static_cast<int>((bits >> 52) & 0x7ff);
  const unsigned long long fraction = bits & 0xfffffffffffffull;
  return biased == 0 ? Scaled{fraction, -1074} : Scaled{fraction | 0x10000000000000ull, biased - 1075};
}

// |x| divided by |y|, both finite and y not 0: what is left, and the last bits of the quotient.
struct Divided {
  double rest;
  unsigned quotient;
};
GPUFORGE_CORE Divided divided(double x, double y) {
  if (__builtin_fabs(x) < __builtin_fabs(y)) return {__builtin_fabs(x), 0};
  const Scaled above = parts_of(x);
  const Scaled below = parts_of(y);
  unsigned long long rest = above.whole % below.whole;
  unsigned long long quotient = above.whole / below.whole;
  for (int left = above.exponent - below.exponent; left > 0;) {  // eleven bits at a time fit into a word
    const int step = left < 11 ? left : 11;
    rest <<= step;
    quotient = (quotient << step) + rest / below.whole;
    rest %= below.whole;
    left -= step;
  }
  return {scaled(static_cast<double>(rest), below.exponent), static_cast<unsigned>(quotient)};
}

GPUFORGE_CORE bool can_divide(double x, double y) {
  return __builtin_fabs(x) < kInfinity && y == y && y != 0.0;
}
GPUFORGE_CORE double rest_of_division(double x, double y) {
  if (!can_divide(x, y)) return __builtin_nan("");
  if (__builtin_fabs(y) == kInfinity) return x;
  return __builtin_copysign(divided(x, y).rest, x);
}
// The quotient is the nearest whole number, the even one of two; its last bits with their sign.
GPUFORGE_CORE double rest_to_nearest(double x, double y, int* quotient) {
  *quotient = 0;
  if (!can_divide(x, y)) return __builtin_nan("");
  if (__builtin_fabs(y) == kInfinity) return x;
  Divided at = divided(x, y);
  const double size = __builtin_fabs(y);
  const double other = size - at.rest;  // exact where it matters, between size / 2 and size
  if (at.rest > other || (at.rest == other && (at.quotient & 1) != 0)) {
    at.rest = -other;
    ++at.quotient;
  }
  const int last = static_cast<int>(at.quotient & 0x7fffffffu);
  *quotient = __builtin_signbit(x) != __builtin_signbit(y) ? -last : last;
  if (at.rest == 0.0) return __builtin_copysign(0.0, x);
  return __builtin_signbit(x) ? -at.rest : at.rest;
}

// The e with 2^e <= |x| < 2^(e + 1), for x finite and not 0.
GPUFORGE_CORE int exponent_of(double x) {
  const Scaled parts = parts_of(x);
  return parts.exponent + 63 - __clzll(static_cast<long long>(parts.whole));
}
GPUFORGE_CORE double fraction_and_exponent(double x, int* exponent) {
  *exponent = 0;
  if (x == 0.0 || !(__builtin_fabs(x) < kInfinity)) return x + x;
  *exponent = exponent_of(x) + 1;
  return scaled(x, -*exponent);
}
GPUFORGE_CORE double whole_and_part(double x, double* whole) {
  *whole = __builtin_trunc(x);
  return __builtin_copysign(__builtin_fabs(x) == kInfinity ? 0.0 : x - *whole, x);
}
GPUFORGE_CORE double exponent_as_number(double x) {
  if (x == 0.0) return -kInfinity;
  if (!(__builtin_fabs(x) < kInfinity)) return x * x;
  return exponent_of(x);
}
// What CUDA gives for 0, infinity and NaN is what C's headers of Linux say.
GPUFORGE_CORE int exponent_as_integer(double x) {
  if (x == 0.0 || x != x) return -2147483647 - 1;
  return __builtin_fabs(x) == kInfinity ? 2147483647 : exponent_of(x);
}

// The number next to x on the way to y, in a type with as many bits as Word.
template <typename Word, typename T>
GPUFORGE_CORE T neighbour(T x, T y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == T(0)) return __builtin_copysign(__builtin_bit_cast(T, Word(1)), y);
  const Word bits = __builtin_bit_cast(Word, x);
  return __builtin_bit_cast(T, (x < y) == (x > T(0)) ? bits + 1 : bits - 1);
}

}  // namespace gpuforge_clang
