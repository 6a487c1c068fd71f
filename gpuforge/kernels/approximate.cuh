// Within two units in the last place of a float, in an instruction or three and without a branch: exact ones
// have a way for numbers that are nearly too small or too large, which every thread steps around.
#pragma once

namespace gpuforge {

// 1 / value, for values from 2^-126 to 2^126.
__device__ inline float reciprocal(float value) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}
// 1 / sqrt(value), also of the smallest values; infinite for 0.
__device__ inline float inverse_root(float value) {
  float result;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

}  // namespace gpuforge
