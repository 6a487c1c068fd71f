// Floats of two bytes and pairs of them: what cuda_fp16 and cuda_bf16 are made of. A type has its PTX name,
// how a float becomes one and back, and the words its functions are called by.
#pragma once

#define GPUFORGE_NARROW __attribute__((device, always_inline, nodebug)) inline

// The class, and what C++ writes with operators.
#define GPUFORGE_NARROW_TYPE(T, from_float, from_double, to_float)    \
  struct __attribute__((aligned(2))) T {                              \
    T() = default;                                                    \
    GPUFORGE_NARROW T(float x) : bits(from_float(x)) {}               \
    GPUFORGE_NARROW T(double x) : bits(from_double(x)) {}             \
    GPUFORGE_NARROW T(int x) : bits(from_double(x)) {}                \
    GPUFORGE_NARROW T(unsigned x) : bits(from_double(x)) {}           \
    GPUFORGE_NARROW T(short x) : bits(from_float(x)) {}               \
    GPUFORGE_NARROW T(unsigned short x) : bits(from_float(x)) {}      \
    GPUFORGE_NARROW operator float() const { return to_float(bits); } \
    unsigned short bits;                                              \
  };                                                                  \
  struct __attribute__((aligned(4))) T##2 {                           \
    T##2() = default;                                                 \
    GPUFORGE_NARROW T##2(T low, T high) : x(low), y(high) {}          \
    T x, y;                                                           \
  };

// `one` of each lane for single and pair, under CUDA's names.
#define GPUFORGE_NARROW_UNARY(T, single, pair, one) \
  GPUFORGE_NARROW T single(T a) {                   \
    return one;                                     \
  }                                                 \
  GPUFORGE_NARROW T##2 pair(T##2 a) {               \
    return {single(a.x), single(a.y)};              \
  }
#define GPUFORGE_NARROW_BINARY(T, single, pair, one) \
  GPUFORGE_NARROW T single(T a, T b) {               \
    return one;                                      \
  }                                                  \
  GPUFORGE_NARROW T##2 pair(T##2 a, T##2 b) {        \
    return {single(a.x, b.x), single(a.y, b.y)};     \
  }
#define GPUFORGE_NARROW_COMPARE(T, name, comparison)                                     \
  GPUFORGE_NARROW bool __h##name(T a, T b) {                                             \
    return static_cast<float>(a) comparison static_cast<float>(b);                       \
  }                                                                                      \
  GPUFORGE_NARROW T##2 __h##name##2(T##2 a, T##2 b) {                                    \
    return {T(__h##name(a.x, b.x) ? 1.0f : 0.0f), T(__h##name(a.y, b.y) ? 1.0f : 0.0f)}; \
  }                                                                                      \
  GPUFORGE_NARROW bool __hb##name##2(T##2 a, T##2 b) {                                   \
    return __h##name(a.x, b.x) && __h##name(a.y, b.y);                                   \
  }                                                                                      \
  GPUFORGE_NARROW bool operator comparison(T a, T b) {                                   \
    return __h##name(a, b);                                                              \
  }
#define GPUFORGE_NARROW_OPERATOR(T, sign, single, pair)       \
  GPUFORGE_NARROW T operator sign(T a, T b) {                 \
    return single(a, b);                                      \
  }                                                           \
  GPUFORGE_NARROW T##2 operator sign(T##2 a, T##2 b) {        \
    return pair(a, b);                                        \
  }                                                           \
  GPUFORGE_NARROW T& operator sign##=(T& a, T b) {            \
    return a = single(a, b);                                  \
  }                                                           \
  GPUFORGE_NARROW T##2 & operator sign##=(T##2 & a, T##2 b) { \
    return a = pair(a, b);                                    \
  }
// Through float: a float holds any such value, and has bits enough that rounding twice is rounding once.
#define GPUFORGE_NARROW_MATH(T, function, one) GPUFORGE_NARROW_UNARY(T, h##function, h2##function, T(one))

#define GPUFORGE_NARROW_FUNCTIONS(T, word, pair_word)                                                   \
  GPUFORGE_NARROW_BINARY(T, __hdiv, __h2div, T(static_cast<float>(a) / static_cast<float>(b)))          \
  GPUFORGE_NARROW_BINARY(T, __hmax, __hmax2, T(fmaxf(a, b)))                                            \
  GPUFORGE_NARROW_BINARY(T, __hmin, __hmin2, T(fminf(a, b)))                                            \
  GPUFORGE_NARROW_UNARY(T, __hneg, __hneg2,                                                             \
                        __ushort_as_##word(isnan(static_cast<float>(a)) ? 0x7fffu : a.bits ^ 0x8000u))  \
  GPUFORGE_NARROW_UNARY(T, __habs, __habs2,                                                             \
                        __ushort_as_##word(isnan(static_cast<float>(a)) ? 0x7fffu : a.bits & 0x7fffu))  \
  GPUFORGE_NARROW_COMPARE(T, eq, ==)                                                                    \
  GPUFORGE_NARROW_COMPARE(T, ne, !=)                                                                    \
  GPUFORGE_NARROW_COMPARE(T, lt, <)                                                                     \
  GPUFORGE_NARROW_COMPARE(T, le, <=)                                                                    \
  GPUFORGE_NARROW_COMPARE(T, gt, >)                                                                     \
  GPUFORGE_NARROW_COMPARE(T, ge, >=)                                                                    \
  GPUFORGE_NARROW_OPERATOR(T, +, __hadd, __hadd2)                                                       \
  GPUFORGE_NARROW_OPERATOR(T, -, __hsub, __hsub2)                                                       \
  GPUFORGE_NARROW_OPERATOR(T, *, __hmul, __hmul2)                                                       \
  GPUFORGE_NARROW_OPERATOR(T, /, __hdiv, __h2div)                                                       \
  GPUFORGE_NARROW T operator-(T a) {                                                                    \
    return __hneg(a);                                                                                   \
  }                                                                                                     \
  GPUFORGE_NARROW T##2 operator-(T##2 a) {                                                              \
    return __hneg2(a);                                                                                  \
  }                                                                                                     \
  GPUFORGE_NARROW bool __hisnan(T a) {                                                                  \
    return isnan(static_cast<float>(a));                                                                \
  }                                                                                                     \
  GPUFORGE_NARROW int __hisinf(T a) {                                                                   \
    const float x = a;                                                                                  \
    return isinf(x) ? (x > 0 ? 1 : -1) : 0;                                                             \
  }                                                                                                     \
  GPUFORGE_NARROW_MATH(T, sqrt, sqrtf(a))                                                               \
  GPUFORGE_NARROW_MATH(T, rsqrt, static_cast<float>(rsqrt(static_cast<double>(static_cast<float>(a))))) \
  GPUFORGE_NARROW_MATH(T, rcp, 1.0f / static_cast<float>(a))                                            \
  GPUFORGE_NARROW_MATH(T, exp, expf(a))                                                                 \
  GPUFORGE_NARROW_MATH(T, exp2, exp2f(a))                                                               \
  GPUFORGE_NARROW_MATH(T, exp10, exp10f(a))                                                             \
  GPUFORGE_NARROW_MATH(T, log, logf(a))                                                                 \
  GPUFORGE_NARROW_MATH(T, log2, log2f(a))                                                               \
  GPUFORGE_NARROW_MATH(T, log10, log10f(a))                                                             \
  GPUFORGE_NARROW_MATH(T, sin, sinf(a))                                                                 \
  GPUFORGE_NARROW_MATH(T, cos, cosf(a))                                                                 \
  GPUFORGE_NARROW_MATH(T, tanh, tanhf(a))                                                               \
  GPUFORGE_NARROW_MATH(T, floor, floorf(a))                                                             \
  GPUFORGE_NARROW_MATH(T, ceil, ceilf(a))                                                               \
  GPUFORGE_NARROW_MATH(T, trunc, truncf(a))                                                             \
  GPUFORGE_NARROW_MATH(T, rint, rintf(a))                                                               \
  GPUFORGE_NARROW T __float2##word(float x) {                                                           \
    return T(x);                                                                                        \
  }                                                                                                     \
  GPUFORGE_NARROW T __float2##word##_rn(float x) {                                                      \
    return T(x);                                                                                        \
  }                                                                                                     \
  GPUFORGE_NARROW T __double2##word(double x) {                                                         \
    return T(x);                                                                                        \
  }                                                                                                     \
  GPUFORGE_NARROW T __int2##word##_rn(int x) {                                                          \
    return T(x);                                                                                        \
  }                                                                                                     \
  GPUFORGE_NARROW T __uint2##word##_rn(unsigned x) {                                                    \
    return T(x);                                                                                        \
  }                                                                                                     \
  GPUFORGE_NARROW float __##word##2float(T x) {                                                         \
    return x;                                                                                           \
  }                                                                                                     \
  GPUFORGE_NARROW int __##word##2int_rn(T x) {                                                          \
    return __float2int_rn(x);                                                                           \
  }                                                                                                     \
  GPUFORGE_NARROW int __##word##2int_rz(T x) {                                                          \
    return __float2int_rz(x);                                                                           \
  }                                                                                                     \
  GPUFORGE_NARROW int __##word##2int_rd(T x) {                                                          \
    return __float2int_rd(x);                                                                           \
  }                                                                                                     \
  GPUFORGE_NARROW int __##word##2int_ru(T x) {                                                          \
    return __float2int_ru(x);                                                                           \
  }                                                                                                     \
  GPUFORGE_NARROW unsigned __##word##2uint_rz(T x) {                                                    \
    return __float2uint_rz(x);                                                                          \
  }                                                                                                     \
  GPUFORGE_NARROW unsigned short __##word##_as_ushort(T x) {                                            \
    return x.bits;                                                                                      \
  }                                                                                                     \
  GPUFORGE_NARROW short __##word##_as_short(T x) {                                                      \
    return static_cast<short>(x.bits);                                                                  \
  }                                                                                                     \
  GPUFORGE_NARROW T __short_as_##word(short x) {                                                        \
    return __ushort_as_##word(static_cast<unsigned short>(x));                                          \
  }                                                                                                     \
  GPUFORGE_NARROW T##2 __halves2##pair_word(T low, T high) {                                            \
    return {low, high};                                                                                 \
  }                                                                                                     \
  GPUFORGE_NARROW T##2 make_##pair_word(T low, T high) {                                                \
    return {low, high};                                                                                 \
  }                                                                                                     \
  GPUFORGE_NARROW T##2 __##word##2##pair_word(T x) {                                                    \
    return {x, x};                                                                                      \
  }                                                                                                     \
  GPUFORGE_NARROW T##2 __float2##pair_word##_rn(float x) {                                              \
    return {T(x), T(x)};                                                                                \
  }                                                                                                     \
  GPUFORGE_NARROW T##2 __floats2##pair_word##_rn(float low, float high) {                               \
    return {T(low), T(high)};                                                                           \
  }                                                                                                     \
  GPUFORGE_NARROW T##2 __float22##pair_word##_rn(float2 x) {                                            \
    return {T(x.x), T(x.y)};                                                                            \
  }                                                                                                     \
  GPUFORGE_NARROW float2 __##pair_word##2float2(T##2 x) {                                               \
    return make_float2(x.x, x.y);                                                                       \
  }                                                                                                     \
  GPUFORGE_NARROW T __low2##word(T##2 x) {                                                              \
    return x.x;                                                                                         \
  }                                                                                                     \
  GPUFORGE_NARROW T __high2##word(T##2 x) {                                                             \
    return x.y;                                                                                         \
  }                                                                                                     \
  GPUFORGE_NARROW T##2 __low2##pair_word(T##2 x) {                                                      \
    return {x.x, x.x};                                                                                  \
  }                                                                                                     \
  GPUFORGE_NARROW T##2 __high2##pair_word(T##2 x) {                                                     \
    return {x.y, x.y};                                                                                  \
  }                                                                                                     \
  GPUFORGE_NARROW T##2 __lows2##pair_word(T##2 a, T##2 b) {                                             \
    return {a.x, b.x};                                                                                  \
  }                                                                                                     \
  GPUFORGE_NARROW T##2 __highs2##pair_word(T##2 a, T##2 b) {                                            \
    return {a.y, b.y};                                                                                  \
  }                                                                                                     \
  GPUFORGE_NARROW T##2 __lowhigh2highlow(T##2 x) {                                                      \
    return {x.y, x.x};                                                                                  \
  }                                                                                                     \
  GPUFORGE_NARROW float __low2float(T##2 x) {                                                           \
    return x.x;                                                                                         \
  }                                                                                                     \
  GPUFORGE_NARROW float __high2float(T##2 x) {                                                          \
    return x.y;                                                                                         \
  }                                                                                                     \
  GPUFORGE_NARROW_SHUFFLE(T, __shfl_sync, int)                                                          \
  GPUFORGE_NARROW_SHUFFLE(T, __shfl_up_sync, unsigned)                                                  \
  GPUFORGE_NARROW_SHUFFLE(T, __shfl_down_sync, unsigned)                                                \
  GPUFORGE_NARROW_SHUFFLE(T, __shfl_xor_sync, int)

#define GPUFORGE_NARROW_SHUFFLE(T, name, lane_type)                                                \
  GPUFORGE_NARROW T name(unsigned mask, T value, lane_type lane, int width = 32) {                 \
    T result;                                                                                      \
    result.bits = static_cast<unsigned short>(name(mask, unsigned{value.bits}, lane, width));      \
    return result;                                                                                 \
  }                                                                                                \
  GPUFORGE_NARROW T##2 name(unsigned mask, T##2 value, lane_type lane, int width = 32) {           \
    return __builtin_bit_cast(T##2, name(mask, __builtin_bit_cast(unsigned, value), lane, width)); \
  }

// PTX of two and three operands for single values.
#define GPUFORGE_NARROW_PTX(T, name, ptx)                                   \
  GPUFORGE_NARROW T name(T a, T b) {                                        \
    T result;                                                               \
    asm(ptx " %0, %1, %2;" : "=h"(result.bits) : "h"(a.bits), "h"(b.bits)); \
    return result;                                                          \
  }
#define GPUFORGE_NARROW_FMA(T, single, pair, ptx)                                            \
  GPUFORGE_NARROW T single(T a, T b, T c) {                                                  \
    T result;                                                                                \
    asm(ptx " %0, %1, %2, %3;" : "=h"(result.bits) : "h"(a.bits), "h"(b.bits), "h"(c.bits)); \
    return result;                                                                           \
  }                                                                                          \
  GPUFORGE_NARROW T##2 pair(T##2 a, T##2 b, T##2 c) {                                        \
    return {single(a.x, b.x, c.x), single(a.y, b.y, c.y)};                                   \
  }
#define GPUFORGE_NARROW_PAIR(T, single, pair)    \
  GPUFORGE_NARROW T##2 pair(T##2 a, T##2 b) {    \
    return {single(a.x, b.x), single(a.y, b.y)}; \
  }
