// Floating-point intrinsics: arithmetic with a rounding mode, conversions, bits, fast approximations. Part of
// the prelude for clang.
#pragma once

GPUFORGE_INTRINSIC int __float_as_int(float x) {
  return __builtin_bit_cast(int, x);
}
GPUFORGE_INTRINSIC unsigned __float_as_uint(float x) {
  return __builtin_bit_cast(unsigned, x);
}
GPUFORGE_INTRINSIC float __int_as_float(int x) {
  return __builtin_bit_cast(float, x);
}
GPUFORGE_INTRINSIC float __uint_as_float(unsigned x) {
  return __builtin_bit_cast(float, x);
}
GPUFORGE_INTRINSIC long long __double_as_longlong(double x) {
  return __builtin_bit_cast(long long, x);
}
GPUFORGE_INTRINSIC double __longlong_as_double(long long x) {
  return __builtin_bit_cast(double, x);
}
GPUFORGE_INTRINSIC int __double2hiint(double x) {
  return static_cast<int>(__builtin_bit_cast(unsigned long long, x) >> 32);
}
GPUFORGE_INTRINSIC int __double2loint(double x) {
  return static_cast<int>(__builtin_bit_cast(unsigned long long, x));
}
GPUFORGE_INTRINSIC double __hiloint2double(int high, int low) {
  return __builtin_bit_cast(double, (static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32) |
                                        static_cast<unsigned>(low));
}

// In PTX the modes are rn, rz, rm (down) and rp (up); CUDA says rd and ru. Written out, so that no product
// and sum become one instruction.
#define GPUFORGE_BINARY(name, instruction, type, c)               \
  GPUFORGE_INTRINSIC type name(type a, type b) {                  \
    type result;                                                  \
    asm(instruction " %0, %1, %2;" : "=" c(result) : c(a), c(b)); \
    return result;                                                \
  }
#define GPUFORGE_UNARY(name, instruction, type, c)      \
  GPUFORGE_INTRINSIC type name(type a) {                \
    type result;                                        \
    asm(instruction " %0, %1;" : "=" c(result) : c(a)); \
    return result;                                      \
  }
#define GPUFORGE_ROUNDED(cuda, ptx)                                                  \
  GPUFORGE_BINARY(__fadd_##cuda, "add." #ptx ".f32", float, "f")                     \
  GPUFORGE_BINARY(__fsub_##cuda, "sub." #ptx ".f32", float, "f")                     \
  GPUFORGE_BINARY(__fmul_##cuda, "mul." #ptx ".f32", float, "f")                     \
  GPUFORGE_BINARY(__fdiv_##cuda, "div." #ptx ".f32", float, "f")                     \
  GPUFORGE_BINARY(__dadd_##cuda, "add." #ptx ".f64", double, "d")                    \
  GPUFORGE_BINARY(__dsub_##cuda, "sub." #ptx ".f64", double, "d")                    \
  GPUFORGE_BINARY(__dmul_##cuda, "mul." #ptx ".f64", double, "d")                    \
  GPUFORGE_BINARY(__ddiv_##cuda, "div." #ptx ".f64", double, "d")                    \
  GPUFORGE_UNARY(__frcp_##cuda, "rcp." #ptx ".f32", float, "f")                      \
  GPUFORGE_UNARY(__fsqrt_##cuda, "sqrt." #ptx ".f32", float, "f")                    \
  GPUFORGE_UNARY(__drcp_##cuda, "rcp." #ptx ".f64", double, "d")                     \
  GPUFORGE_UNARY(__dsqrt_##cuda, "sqrt." #ptx ".f64", double, "d")                   \
  GPUFORGE_INTRINSIC float __fmaf_##cuda(float a, float b, float c) {                \
    float result;                                                                    \
    asm("fma." #ptx ".f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c)); \
    return result;                                                                   \
  }                                                                                  \
  GPUFORGE_INTRINSIC float __fmaf_ieee_##cuda(float a, float b, float c) {           \
    return __fmaf_##cuda(a, b, c);                                                   \
  }                                                                                  \
  GPUFORGE_INTRINSIC double __fma_##cuda(double a, double b, double c) {             \
    double result;                                                                   \
    asm("fma." #ptx ".f64 %0, %1, %2, %3;" : "=d"(result) : "d"(a), "d"(b), "d"(c)); \
    return result;                                                                   \
  }
GPUFORGE_ROUNDED(rn, rn)
GPUFORGE_ROUNDED(rz, rz)
GPUFORGE_ROUNDED(rd, rm)
GPUFORGE_ROUNDED(ru, rp)
#undef GPUFORGE_ROUNDED

#define GPUFORGE_CONVERT(name, instruction, to, c_to, from, c_from)    \
  GPUFORGE_INTRINSIC to name(from x) {                                 \
    to result;                                                         \
    asm("cvt." instruction " %0, %1;" : "=" c_to(result) : c_from(x)); \
    return result;                                                     \
  }
#define GPUFORGE_CONVERSIONS(cuda, ptx)                                                         \
  GPUFORGE_CONVERT(__float2int_##cuda, #ptx "i.s32.f32", int, "r", float, "f")                  \
  GPUFORGE_CONVERT(__float2uint_##cuda, #ptx "i.u32.f32", unsigned, "r", float, "f")            \
  GPUFORGE_CONVERT(__float2ll_##cuda, #ptx "i.s64.f32", long long, "l", float, "f")             \
  GPUFORGE_CONVERT(__float2ull_##cuda, #ptx "i.u64.f32", unsigned long long, "l", float, "f")   \
  GPUFORGE_CONVERT(__double2int_##cuda, #ptx "i.s32.f64", int, "r", double, "d")                \
  GPUFORGE_CONVERT(__double2uint_##cuda, #ptx "i.u32.f64", unsigned, "r", double, "d")          \
  GPUFORGE_CONVERT(__double2ll_##cuda, #ptx "i.s64.f64", long long, "l", double, "d")           \
  GPUFORGE_CONVERT(__double2ull_##cuda, #ptx "i.u64.f64", unsigned long long, "l", double, "d") \
  GPUFORGE_CONVERT(__double2float_##cuda, #ptx ".f32.f64", float, "f", double, "d")             \
  GPUFORGE_CONVERT(__int2float_##cuda, #ptx ".f32.s32", float, "f", int, "r")                   \
  GPUFORGE_CONVERT(__uint2float_##cuda, #ptx ".f32.u32", float, "f", unsigned, "r")             \
  GPUFORGE_CONVERT(__ll2float_##cuda, #ptx ".f32.s64", float, "f", long long, "l")              \
  GPUFORGE_CONVERT(__ull2float_##cuda, #ptx ".f32.u64", float, "f", unsigned long long, "l")    \
  GPUFORGE_CONVERT(__ll2double_##cuda, #ptx ".f64.s64", double, "d", long long, "l")            \
  GPUFORGE_CONVERT(__ull2double_##cuda, #ptx ".f64.u64", double, "d", unsigned long long, "l")
GPUFORGE_CONVERSIONS(rn, rn)
GPUFORGE_CONVERSIONS(rz, rz)
GPUFORGE_CONVERSIONS(rd, rm)
GPUFORGE_CONVERSIONS(ru, rp)
#undef GPUFORGE_CONVERSIONS
#undef GPUFORGE_CONVERT
GPUFORGE_INTRINSIC double __int2double_rn(int x) {
  return x;
}
GPUFORGE_INTRINSIC double __uint2double_rn(unsigned x) {
  return x;
}

// The approximate instructions.
GPUFORGE_UNARY(__frsqrt_rn, "rsqrt.approx.f32", float, "f")
GPUFORGE_UNARY(__sinf, "sin.approx.f32", float, "f")
GPUFORGE_UNARY(__cosf, "cos.approx.f32", float, "f")
GPUFORGE_UNARY(__exp2f, "ex2.approx.f32", float, "f")
GPUFORGE_UNARY(__log2f, "lg2.approx.f32", float, "f")
GPUFORGE_UNARY(__tanhf, "tanh.approx.f32", float, "f")
GPUFORGE_UNARY(__saturatef, "cvt.sat.f32.f32", float, "f")
GPUFORGE_BINARY(__fdividef, "div.approx.f32", float, "f")
#undef GPUFORGE_BINARY
#undef GPUFORGE_UNARY
GPUFORGE_INTRINSIC float __expf(float x) {
  return __exp2f(__fmul_rn(x, 1.4426950408889634f));
}
GPUFORGE_INTRINSIC float __exp10f(float x) {
  return __exp2f(__fmul_rn(x, 3.3219280948873623f));
}
GPUFORGE_INTRINSIC float __logf(float x) {
  return __fmul_rn(__log2f(x), 0.6931471805599453f);
}
GPUFORGE_INTRINSIC float __log10f(float x) {
  return __fmul_rn(__log2f(x), 0.3010299956639812f);
}
GPUFORGE_INTRINSIC float __powf(float x, float y) {
  return __exp2f(__fmul_rn(y, __log2f(x)));
}
GPUFORGE_INTRINSIC float __tanf(float x) {
  return __fdividef(__sinf(x), __cosf(x));
}
GPUFORGE_INTRINSIC void __sincosf(float x, float* sine, float* cosine) {
  *sine = __sinf(x);
  *cosine = __cosf(x);
}
