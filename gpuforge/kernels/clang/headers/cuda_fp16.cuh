// What clang gets for <cuda_fp16.h>: __half and __half2. Not here: _sat and _relu forms other than
// __hfma_relu, conversions of 64-bit integers, atomics of pairs.
#pragma once

#include "gpuforge/kernels/clang/headers/narrow_floats.cuh"

namespace gpuforge_clang {
#define GPUFORGE_TO_HALF(name, type, c, ptx)        \
  GPUFORGE_NARROW unsigned short name(type x) {     \
    unsigned short bits;                            \
    asm("cvt." ptx " %0, %1;" : "=h"(bits) : c(x)); \
    return bits;                                    \
  }
GPUFORGE_TO_HALF(half_of, float, "f", "rn.f16.f32")
GPUFORGE_TO_HALF(half_of_rz, float, "f", "rz.f16.f32")
GPUFORGE_TO_HALF(half_of_rd, float, "f", "rm.f16.f32")
GPUFORGE_TO_HALF(half_of_ru, float, "f", "rp.f16.f32")
GPUFORGE_TO_HALF(half_of_double, double, "d", "rn.f16.f64")
#undef GPUFORGE_TO_HALF
GPUFORGE_NARROW float float_of_half(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
}  // namespace gpuforge_clang

GPUFORGE_NARROW_TYPE(__half, gpuforge_clang::half_of, gpuforge_clang::half_of_double,
                     gpuforge_clang::float_of_half)
typedef __half half;
typedef __half2 half2;

GPUFORGE_NARROW __half __ushort_as_half(unsigned short bits) {
  __half result;
  result.bits = bits;
  return result;
}
GPUFORGE_NARROW __half __float2half_rz(float x) {
  return __ushort_as_half(gpuforge_clang::half_of_rz(x));
}
GPUFORGE_NARROW __half __float2half_rd(float x) {
  return __ushort_as_half(gpuforge_clang::half_of_rd(x));
}
GPUFORGE_NARROW __half __float2half_ru(float x) {
  return __ushort_as_half(gpuforge_clang::half_of_ru(x));
}
GPUFORGE_NARROW_PTX(__half, __hadd, "add.f16")
GPUFORGE_NARROW_PTX(__half, __hsub, "sub.f16")
GPUFORGE_NARROW_PTX(__half, __hmul, "mul.f16")
GPUFORGE_NARROW_PTX(__half, __hadd_rn, "add.rn.f16")
GPUFORGE_NARROW_PTX(__half, __hsub_rn, "sub.rn.f16")
GPUFORGE_NARROW_PTX(__half, __hmul_rn, "mul.rn.f16")
GPUFORGE_NARROW_PTX(__half, __hadd_sat, "add.sat.f16")
GPUFORGE_NARROW_PTX(__half, __hsub_sat, "sub.sat.f16")
GPUFORGE_NARROW_PTX(__half, __hmul_sat, "mul.sat.f16")
GPUFORGE_NARROW_PAIR(__half, __hadd, __hadd2)
GPUFORGE_NARROW_PAIR(__half, __hsub, __hsub2)
GPUFORGE_NARROW_PAIR(__half, __hmul, __hmul2)
GPUFORGE_NARROW_FMA(__half, __hfma, __hfma2, "fma.rn.f16")
GPUFORGE_NARROW_FMA(__half, __hfma_sat, __hfma2_sat, "fma.rn.sat.f16")
GPUFORGE_NARROW_FMA(__half, __hfma_relu, __hfma2_relu, "fma.rn.relu.f16")
GPUFORGE_NARROW_FUNCTIONS(__half, half, half2)
GPUFORGE_NARROW __half atomicAdd(__half* at, __half value) {
  __half old;
  asm volatile("atom.add.noftz.f16 %0, [%1], %2;" : "=h"(old.bits) : "l"(at), "h"(value.bits) : "memory");
  return old;
}
