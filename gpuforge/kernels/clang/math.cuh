// Mathematical functions under their C names, for float and double, and C++'s overloads of them. Rounding,
// square roots, minima and fma are instructions; the others come from elementary.cuh and what it includes,
// floats by way of double. Bessel functions are named at the end, so that the message about them is a clear
// one. Part of the prelude for clang.
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
#define GPUFORGE_MATH_WHOLE(name, type, single, twin) \
  GPUFORGE_INTRINSIC type name##f(float x) {          \
    return single;                                    \
  }                                                   \
  GPUFORGE_INTRINSIC type name(double x) {            \
    return twin;                                      \
  }                                                   \
  GPUFORGE_INTRINSIC type name(float x) {             \
    return single;                                    \
  }
GPUFORGE_MATH_WHOLE(lround, long, __float2ll_rz(roundf(x)), __double2ll_rz(round(x)))
GPUFORGE_MATH_WHOLE(llround, long long, __float2ll_rz(roundf(x)), __double2ll_rz(round(x)))
GPUFORGE_MATH_WHOLE(lrint, long, __float2ll_rn(x), __double2ll_rn(x))
GPUFORGE_MATH_WHOLE(llrint, long long, __float2ll_rn(x), __double2ll_rn(x))
GPUFORGE_MATH_WHOLE(ilogb, int, gpuforge_clang::exponent_as_integer(x),
                    gpuforge_clang::exponent_as_integer(x))
#undef GPUFORGE_MATH_WHOLE

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
GPUFORGE_INTRINSIC double min(float a, double b) {
  return __builtin_fmin(a, b);
}
GPUFORGE_INTRINSIC double max(float a, double b) {
  return __builtin_fmax(a, b);
}
GPUFORGE_INTRINSIC double min(double a, float b) {
  return __builtin_fmin(a, b);
}
GPUFORGE_INTRINSIC double max(double a, float b) {
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
GPUFORGE_INTRINSIC float fdim(float a, float b) {
  return fdimf(a, b);
}
GPUFORGE_INTRINSIC float fdividef(float a, float b) {
  return a / b;
}

#define GPUFORGE_MATH_CLASS(name, single, twin) \
  GPUFORGE_INTRINSIC bool name(float x) {       \
    return single;                              \
  }                                             \
  GPUFORGE_INTRINSIC bool name(double x) {      \
    return twin;                                \
  }                                             \
  GPUFORGE_INTRINSIC int __##name##f(float x) { \
    return single;                              \
  }                                             \
  GPUFORGE_INTRINSIC int __##name(double x) {   \
    return twin;                                \
  }
GPUFORGE_MATH_CLASS(isnan, x != x, x != x)
GPUFORGE_MATH_CLASS(isinf, __builtin_fabsf(x) == __builtin_inff(), __builtin_fabs(x) == __builtin_inf())
GPUFORGE_MATH_CLASS(isfinite, __builtin_fabsf(x) < __builtin_inff(), __builtin_fabs(x) < __builtin_inf())
GPUFORGE_MATH_CLASS(signbit, __builtin_signbitf(x), __builtin_signbit(x))
#undef GPUFORGE_MATH_CLASS
GPUFORGE_INTRINSIC int __finitef(float x) {
  return isfinite(x);
}
GPUFORGE_INTRINSIC int __finite(double x) {
  return isfinite(x);
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
GPUFORGE_MATH(asinh, inverse_hyperbolic_sine)
GPUFORGE_MATH(acosh, inverse_hyperbolic_cosine)
GPUFORGE_MATH(atanh, inverse_hyperbolic_tangent)
GPUFORGE_MATH(sinpi, sine_of_half_turns)
GPUFORGE_MATH(cospi, cosine_of_half_turns)
GPUFORGE_MATH(cbrt, cube_root)
GPUFORGE_MATH(rcbrt, reciprocal_cube_root)
GPUFORGE_MATH(exp10, power_of_ten)
GPUFORGE_MATH(erfcx, error_complement_scaled)
GPUFORGE_MATH(erfinv, inverse_error)
GPUFORGE_MATH(erfcinv, inverse_complement)
GPUFORGE_MATH(normcdf, normal_share)
GPUFORGE_MATH(normcdfinv, normal_quantile)
GPUFORGE_MATH(tgamma, gamma_function)
GPUFORGE_MATH(lgamma, log_gamma)
GPUFORGE_MATH(logb, exponent_as_number)
#undef GPUFORGE_MATH

#define GPUFORGE_MATH(name, core)                                                                    \
  GPUFORGE_INTRINSIC double name(double x, double y) {                                               \
    return gpuforge_clang::core(x, y);                                                               \
  }                                                                                                  \
  GPUFORGE_INTRINSIC float name##f(float x, float y) {                                               \
    return static_cast<float>(gpuforge_clang::core(static_cast<double>(x), static_cast<double>(y))); \
  }                                                                                                  \
  GPUFORGE_INTRINSIC float name(float x, float y) {                                                  \
    return name##f(x, y);                                                                            \
  }
GPUFORGE_MATH(pow, power)
GPUFORGE_MATH(atan2, arc_tangent_2)
GPUFORGE_MATH(fmod, rest_of_division)
GPUFORGE_MATH(hypot, length)
GPUFORGE_MATH(rhypot, reciprocal_length)
#undef GPUFORGE_MATH
GPUFORGE_INTRINSIC float pow(float x, int n) {
  return powf(x, static_cast<float>(n));
}
GPUFORGE_INTRINSIC double pow(double x, int n) {
  return pow(x, static_cast<double>(n));
}

// A second result behind a pointer.
#define GPUFORGE_MATH(suffix, type)                                                       \
  GPUFORGE_INTRINSIC type remquo##suffix(type x, type y, int* quotient) {                 \
    return static_cast<type>(gpuforge_clang::rest_to_nearest(x, y, quotient));            \
  }                                                                                       \
  GPUFORGE_INTRINSIC type remainder##suffix(type x, type y) {                             \
    int ignored;                                                                          \
    return static_cast<type>(gpuforge_clang::rest_to_nearest(x, y, &ignored));            \
  }                                                                                       \
  GPUFORGE_INTRINSIC type frexp##suffix(type x, int* exponent) {                          \
    return static_cast<type>(gpuforge_clang::fraction_and_exponent(x, exponent));         \
  }                                                                                       \
  GPUFORGE_INTRINSIC type modf##suffix(type x, type* whole) {                             \
    double trunk;                                                                         \
    const double part = gpuforge_clang::whole_and_part(x, &trunk);                        \
    *whole = static_cast<type>(trunk);                                                    \
    return static_cast<type>(part);                                                       \
  }                                                                                       \
  GPUFORGE_INTRINSIC type ldexp##suffix(type x, int n) {                                  \
    return static_cast<type>(gpuforge_clang::scaled(x, n));                               \
  }                                                                                       \
  GPUFORGE_INTRINSIC type scalbn##suffix(type x, int n) {                                 \
    return ldexp##suffix(x, n);                                                           \
  }                                                                                       \
  GPUFORGE_INTRINSIC type scalbln##suffix(type x, long n) {                               \
    return ldexp##suffix(x, static_cast<int>(n > 9999 ? 9999 : (n < -9999 ? -9999 : n))); \
  }                                                                                       \
  GPUFORGE_INTRINSIC void sincos##suffix(type x, type* sine, type* cosine) {              \
    *sine = sin(x);                                                                       \
    *cosine = cos(x);                                                                     \
  }                                                                                       \
  GPUFORGE_INTRINSIC void sincospi##suffix(type x, type* sine, type* cosine) {            \
    *sine = sinpi(x);                                                                     \
    *cosine = cospi(x);                                                                   \
  }
GPUFORGE_MATH(, double)
GPUFORGE_MATH(, float)
GPUFORGE_MATH(f, float)
#undef GPUFORGE_MATH
GPUFORGE_INTRINSIC double nextafter(double x, double y) {
  return gpuforge_clang::neighbour<unsigned long long>(x, y);
}
GPUFORGE_INTRINSIC float nextafterf(float x, float y) {
  return gpuforge_clang::neighbour<unsigned>(x, y);
}
GPUFORGE_INTRINSIC float nextafter(float x, float y) {
  return nextafterf(x, y);
}
GPUFORGE_INTRINSIC double nan(const char*) {
  return __builtin_nan("");
}
GPUFORGE_INTRINSIC float nanf(const char*) {
  return __builtin_nanf("");
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

// Lengths of vectors with three, four and n members.
#define GPUFORGE_MATH(suffix, type)                                                 \
  GPUFORGE_INTRINSIC type norm3d##suffix(type x, type y, type z) {                  \
    const type members[] = {x, y, z};                                               \
    return static_cast<type>(gpuforge_clang::length_of(3, members));                \
  }                                                                                 \
  GPUFORGE_INTRINSIC type norm4d##suffix(type x, type y, type z, type w) {          \
    const type members[] = {x, y, z, w};                                            \
    return static_cast<type>(gpuforge_clang::length_of(4, members));                \
  }                                                                                 \
  GPUFORGE_INTRINSIC type norm##suffix(int count, const type* members) {            \
    return static_cast<type>(gpuforge_clang::length_of(count, members));            \
  }                                                                                 \
  GPUFORGE_INTRINSIC type rnorm3d##suffix(type x, type y, type z) {                 \
    const type members[] = {x, y, z};                                               \
    return static_cast<type>(gpuforge_clang::reciprocal_length_of(3, members));     \
  }                                                                                 \
  GPUFORGE_INTRINSIC type rnorm4d##suffix(type x, type y, type z, type w) {         \
    const type members[] = {x, y, z, w};                                            \
    return static_cast<type>(gpuforge_clang::reciprocal_length_of(4, members));     \
  }                                                                                 \
  GPUFORGE_INTRINSIC type rnorm##suffix(int count, const type* members) {           \
    return static_cast<type>(gpuforge_clang::reciprocal_length_of(count, members)); \
  }
GPUFORGE_MATH(, double)
GPUFORGE_MATH(f, float)
#undef GPUFORGE_MATH

#define GPUFORGE_ABSENT \
  __device__ __attribute__((unavailable("the clang front end has no Bessel functions: compile with NVRTC")))
#define GPUFORGE_BESSEL(name)            \
  GPUFORGE_ABSENT double name(double x); \
  GPUFORGE_ABSENT float name##f(float x);
GPUFORGE_BESSEL(j0)
GPUFORGE_BESSEL(j1)
GPUFORGE_BESSEL(y0)
GPUFORGE_BESSEL(y1)
GPUFORGE_BESSEL(cyl_bessel_i0)
GPUFORGE_BESSEL(cyl_bessel_i1)
GPUFORGE_ABSENT double jn(int n, double x);
GPUFORGE_ABSENT float jnf(int n, float x);
GPUFORGE_ABSENT double yn(int n, double x);
GPUFORGE_ABSENT float ynf(int n, float x);
#undef GPUFORGE_BESSEL
#undef GPUFORGE_ABSENT
