// Mathematical functions under their C names, for float and double, and C++'s overloads of them. Rounding,
// square roots, minima and fma are instructions; the others come from elementary.cuh, floats by way of
// double. Not here: the gamma, Bessel and normal-distribution families, fmod and remainder of huge quotients,
// nearbyint. Part of the prelude for clang.
#pragma once

#include "gpuforge/kernels/clang/elementary.cuh"

#define GPUFORGE_MATH_BUILTIN(name, builtin)  \
  GPUFORGE_INTRINSIC float name##f(float x) { \
    return builtin##f(x);                     \
  }                                           \
  GPUFORGE_INTRINSIC double name(double x) {  \
    return builtin(x);                        \
  }                                           \
  GPUFORGE_INTRINSIC float name(float x) {    \
    return builtin##f(x);                     \
  }
GPUFORGE_MATH_BUILTIN(fabs, __builtin_fabs)
GPUFORGE_MATH_BUILTIN(floor, __builtin_floor)
GPUFORGE_MATH_BUILTIN(ceil, __builtin_ceil)
GPUFORGE_MATH_BUILTIN(trunc, __builtin_trunc)
GPUFORGE_MATH_BUILTIN(rint, __builtin_rint)
GPUFORGE_MATH_BUILTIN(nearbyint, __builtin_rint)
#undef GPUFORGE_MATH_BUILTIN
GPUFORGE_INTRINSIC float sqrtf(float x) {
  return __fsqrt_rn(x);
}
GPUFORGE_INTRINSIC double sqrt(double x) {
  return __dsqrt_rn(x);
}
GPUFORGE_INTRINSIC float sqrt(float x) {
  return __fsqrt_rn(x);
}
GPUFORGE_INTRINSIC float abs(float x) {
  return __builtin_fabsf(x);
}
GPUFORGE_INTRINSIC double abs(double x) {
  return __builtin_fabs(x);
}

// Halves away from zero.
GPUFORGE_INTRINSIC double round(double x) {
  const double whole = __builtin_trunc(x);
  return __builtin_copysign(__builtin_fabs(x - whole) >= 0.5 ? whole + __builtin_copysign(1.0, x) : whole, x);
}
GPUFORGE_INTRINSIC float roundf(float x) {
  const float whole = __builtin_truncf(x);
  return __builtin_copysignf(
      __builtin_fabsf(x - whole) >= 0.5f ? whole + __builtin_copysignf(1.0f, x) : whole, x);
}
GPUFORGE_INTRINSIC float round(float x) {
  return roundf(x);
}
GPUFORGE_INTRINSIC int __float2int_round(float x) {
  return __float2int_rz(roundf(x));
}
GPUFORGE_INTRINSIC long lroundf(float x) {
  return __float2ll_rz(roundf(x));
}
GPUFORGE_INTRINSIC long lround(double x) {
  return __double2ll_rz(round(x));
}
GPUFORGE_INTRINSIC long lrintf(float x) {
  return __float2ll_rn(x);
}
GPUFORGE_INTRINSIC long lrint(double x) {
  return __double2ll_rn(x);
}

#define GPUFORGE_MATH_PAIR(name, single, twin)         \
  GPUFORGE_INTRINSIC float name##f(float x, float y) { \
    return single(x, y);                               \
  }                                                    \
  GPUFORGE_INTRINSIC double name(double x, double y) { \
    return twin(x, y);                                 \
  }                                                    \
  GPUFORGE_INTRINSIC float name(float x, float y) {    \
    return single(x, y);                               \
  }
GPUFORGE_MATH_PAIR(fmin, __builtin_fminf, __builtin_fmin)
GPUFORGE_MATH_PAIR(fmax, __builtin_fmaxf, __builtin_fmax)
GPUFORGE_MATH_PAIR(copysign, __builtin_copysignf, __builtin_copysign)
#undef GPUFORGE_MATH_PAIR
GPUFORGE_INTRINSIC float min(float a, float b) {
  return __builtin_fminf(a, b);
}
GPUFORGE_INTRINSIC float max(float a, float b) {
  return __builtin_fmaxf(a, b);
}
GPUFORGE_INTRINSIC double min(double a, double b) {
  return __builtin_fmin(a, b);
}
GPUFORGE_INTRINSIC double max(double a, double b) {
  return __builtin_fmax(a, b);
}
GPUFORGE_INTRINSIC float fmaf(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
GPUFORGE_INTRINSIC double fma(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
GPUFORGE_INTRINSIC float fma(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
GPUFORGE_INTRINSIC float fdimf(float a, float b) {
  return a > b ? a - b : (a <= b ? 0.0f : a + b);
}
GPUFORGE_INTRINSIC double fdim(double a, double b) {
  return a > b ? a - b : (a <= b ? 0.0 : a + b);
}
GPUFORGE_INTRINSIC float fdividef(float a, float b) {
  return a / b;
}

GPUFORGE_INTRINSIC bool isnan(float x) {
  return x != x;
}
GPUFORGE_INTRINSIC bool isnan(double x) {
  return x != x;
}
GPUFORGE_INTRINSIC bool isinf(float x) {
  return __builtin_fabsf(x) == __builtin_inff();
}
GPUFORGE_INTRINSIC bool isinf(double x) {
  return __builtin_fabs(x) == __builtin_inf();
}
GPUFORGE_INTRINSIC bool isfinite(float x) {
  return __builtin_fabsf(x) < __builtin_inff();
}
GPUFORGE_INTRINSIC bool isfinite(double x) {
  return __builtin_fabs(x) < __builtin_inf();
}
GPUFORGE_INTRINSIC bool signbit(float x) {
  return __builtin_signbitf(x);
}
GPUFORGE_INTRINSIC bool signbit(double x) {
  return __builtin_signbit(x);
}

#define GPUFORGE_MATH(name, core)                                            \
  GPUFORGE_INTRINSIC double name(double x) {                                 \
    return gpuforge_clang::core(x);                                          \
  }                                                                          \
  GPUFORGE_INTRINSIC float name##f(float x) {                                \
    return static_cast<float>(gpuforge_clang::core(static_cast<double>(x))); \
  }                                                                          \
  GPUFORGE_INTRINSIC float name(float x) {                                   \
    return name##f(x);                                                       \
  }
GPUFORGE_MATH(exp, exponential)
GPUFORGE_MATH(exp2, exponential_of_two)
GPUFORGE_MATH(expm1, exponential_minus_one)
GPUFORGE_MATH(log, logarithm)
GPUFORGE_MATH(log2, logarithm_2)
GPUFORGE_MATH(log10, logarithm_10)
GPUFORGE_MATH(log1p, logarithm_of_one_plus)
GPUFORGE_MATH(sin, sine)
GPUFORGE_MATH(cos, cosine)
GPUFORGE_MATH(tan, tangent)
GPUFORGE_MATH(asin, arc_sine)
GPUFORGE_MATH(acos, arc_cosine)
GPUFORGE_MATH(atan, arc_tangent)
GPUFORGE_MATH(sinh, hyperbolic_sine)
GPUFORGE_MATH(cosh, hyperbolic_cosine)
GPUFORGE_MATH(tanh, hyperbolic_tangent)
GPUFORGE_MATH(erf, error_function)
GPUFORGE_MATH(erfc, error_complement)
#undef GPUFORGE_MATH

GPUFORGE_INTRINSIC double pow(double x, double y) {
  return gpuforge_clang::power(x, y);
}
GPUFORGE_INTRINSIC float powf(float x, float y) {
  return static_cast<float>(gpuforge_clang::power(static_cast<double>(x), static_cast<double>(y)));
}
GPUFORGE_INTRINSIC float pow(float x, float y) {
  return powf(x, y);
}
GPUFORGE_INTRINSIC double atan2(double y, double x) {
  return gpuforge_clang::arc_tangent_2(y, x);
}
GPUFORGE_INTRINSIC float atan2f(float y, float x) {
  return static_cast<float>(gpuforge_clang::arc_tangent_2(static_cast<double>(y), static_cast<double>(x)));
}
GPUFORGE_INTRINSIC float atan2(float y, float x) {
  return atan2f(y, x);
}
GPUFORGE_INTRINSIC float exp10f(float x) {
  return static_cast<float>(gpuforge_clang::power(10.0, static_cast<double>(x)));
}
GPUFORGE_INTRINSIC double exp10(double x) {
  return gpuforge_clang::power(10.0, x);
}
GPUFORGE_INTRINSIC void sincosf(float x, float* sine, float* cosine) {
  *sine = sinf(x);
  *cosine = cosf(x);
}
GPUFORGE_INTRINSIC void sincos(double x, double* sine, double* cosine) {
  *sine = sin(x);
  *cosine = cos(x);
}
GPUFORGE_INTRINSIC float rsqrtf(float x) {
  return __frsqrt_rn(x);
}
GPUFORGE_INTRINSIC float rsqrt(float x) {
  return __frsqrt_rn(x);
}
GPUFORGE_INTRINSIC double rsqrt(double x) {
  return 1.0 / __dsqrt_rn(x);
}
// A double holds the squares of floats without overflow.
GPUFORGE_INTRINSIC float hypotf(float x, float y) {
  if (isinf(x) || isinf(y)) return __builtin_inff();
  const double a = x;
  const double b = y;
  return static_cast<float>(__dsqrt_rn(a * a + b * b));
}
GPUFORGE_INTRINSIC double hypot(double x, double y) {
  if (isinf(x) || isinf(y)) return __builtin_inf();
  const double large = fmax(fabs(x), fabs(y));
  const double scale = large > 0x1p500 ? 0x1p-600 : (large < 0x1p-450 ? 0x1p600 : 1.0);
  const double a = x * scale;
  const double b = y * scale;
  return __dsqrt_rn(fma(a, a, b * b)) / scale;
}
GPUFORGE_INTRINSIC double ldexp(double x, int n) {
  return gpuforge_clang::scaled(x, n);
}
GPUFORGE_INTRINSIC float ldexpf(float x, int n) {
  return static_cast<float>(gpuforge_clang::scaled(static_cast<double>(x), n));
}
// A root from the logarithm, then one step of Newton's.
GPUFORGE_INTRINSIC double cbrt(double x) {
  if (x == 0.0 || !isfinite(x)) return x;
  const double root = gpuforge_clang::exponential(gpuforge_clang::logarithm(fabs(x)) * (1.0 / 3.0));
  const double better = root - (root - fabs(x) / (root * root)) * (1.0 / 3.0);
  return __builtin_copysign(better, x);
}
GPUFORGE_INTRINSIC float cbrtf(float x) {
  return static_cast<float>(cbrt(static_cast<double>(x)));
}
