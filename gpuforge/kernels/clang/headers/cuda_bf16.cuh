// What clang gets for <cuda_bf16.h>: __nv_bfloat16 and __nv_bfloat162. Not here: _sat and _relu forms other
// than
// __hfma_relu, rounding down and up, conversions of 64-bit integers, atomics.
#pragma once

#include "gpuforge/kernels/clang/headers/narrow_floats.cuh"

namespace gpuforge_clang {
GPUFORGE_NARROW unsigned short bfloat_of(float x) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
// By way of a float whose last bit says whether something was cut off, so that it is rounded once.
GPUFORGE_NARROW unsigned short bfloat_of_double(double x) {
  const float cut = __double2float_rz(x);
  if (static_cast<double>(cut) == x || x != x) return bfloat_of(cut);
  return bfloat_of(__uint_as_float(__float_as_uint(cut) | 1u));
}
GPUFORGE_NARROW float float_of_bfloat(unsigned short bits) {
  return __uint_as_float(static_cast<unsigned>(bits) << 16);
}
}  // namespace gpuforge_clang

GPUFORGE_NARROW_TYPE(__nv_bfloat16, gpuforge_clang::bfloat_of, gpuforge_clang::bfloat_of_double,
                     gpuforge_clang::float_of_bfloat)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

GPUFORGE_NARROW __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  __nv_bfloat16 result;
  result.bits = bits;
  return result;
}
GPUFORGE_NARROW __nv_bfloat16 __float2bfloat16_rz(float x) {
  unsigned short bits;
  asm("cvt.rz.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return __ushort_as_bfloat16(bits);
}
GPUFORGE_NARROW_FMA(__nv_bfloat16, __hfma, __hfma2, "fma.rn.bf16")
GPUFORGE_NARROW_FMA(__nv_bfloat16, __hfma_relu, __hfma2_relu, "fma.rn.relu.bf16")
// Sums and products are fused ones: older chips have no other.
GPUFORGE_NARROW __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __hfma(a, __ushort_as_bfloat16(0x3f80), b);
}
GPUFORGE_NARROW __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __hfma(b, __ushort_as_bfloat16(0xbf80), a);
}
GPUFORGE_NARROW __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __hfma(a, b, __ushort_as_bfloat16(0x8000));
}
GPUFORGE_NARROW_PAIR(__nv_bfloat16, __hadd, __hadd2)
GPUFORGE_NARROW_PAIR(__nv_bfloat16, __hsub, __hsub2)
GPUFORGE_NARROW_PAIR(__nv_bfloat16, __hmul, __hmul2)
GPUFORGE_NARROW_FUNCTIONS(__nv_bfloat16, bfloat16, bfloat162)
