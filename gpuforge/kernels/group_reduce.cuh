// What values are reduced with, and reductions over neighbouring threads, all of which have the result.
//   warp_reduce<kWidth>(value, op)           over lanes of a warp
//   group_reduce<kGroup>(value, op, slots)   over threads of a block
// Everything is done in a fixed order: the same input gives the same bits.
#pragma once

#include "gpuforge/kernels/rows.cuh"

namespace gpuforge {

// Each has identity() and op(a, b), which must be the same bits as op(b, a).
struct Sum {
  __device__ static float identity() { return 0.0f; }
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Product {
  __device__ static float identity() { return 1.0f; }
  __device__ float operator()(float a, float b) const { return a * b; }
};
// NaN when either is: max.f32 alone would drop it.
struct Max {
  __device__ static float identity() { return narrow::float_of(0xff800000u); }
  __device__ float operator()(float a, float b) const {
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
  }
};
struct Min {
  __device__ static float identity() { return narrow::float_of(0x7f800000u); }
  __device__ float operator()(float a, float b) const {
    float result;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
  }
};

struct FloatPair {
  float first;
  float second;
};
// Two reductions at once.
template <typename First, typename Second>
struct Both {
  __device__ static FloatPair identity() { return {First::identity(), Second::identity()}; }
  __device__ FloatPair operator()(FloatPair a, FloatPair b) const {
    return {First{}(a.first, b.first), Second{}(a.second, b.second)};
  }
};

__device__ inline float shuffle_xor(float value, int distance) {
  return __shfl_xor_sync(0xffffffffu, value, distance);
}
__device__ inline FloatPair shuffle_xor(FloatPair value, int distance) {
  return {shuffle_xor(value.first, distance), shuffle_xor(value.second, distance)};
}

// Over kWidth neighbouring lanes, a power of two up to 32. Every lane of the warp must come here.
template <int kWidth, typename T, typename Op>
__device__ inline T warp_reduce(T value, Op op) {
#pragma unroll
  for (int distance = kWidth / 2; distance > 0; distance /= 2) {
    value = op(value, shuffle_xor(value, distance));
  }
  return value;
}

// Over kGroup neighbouring threads of a block of one dimension, a power of two up to 1024. Every thread of
// the block must come here. `slots`: one T in shared memory for each warp of the block, not looked at when
// kGroup is at most 32; they may be used again at once.
template <int kGroup, typename T, typename Op>
__device__ inline T group_reduce(T value, Op op, T* slots) {
  static_assert(kGroup > 0 && kGroup <= 1024 && (kGroup & (kGroup - 1)) == 0, "a power of two");
  if constexpr (kGroup <= kWarp) {
    return warp_reduce<kGroup>(value, op);
  } else {
    constexpr int kWarps = kGroup / kWarp;
    value = warp_reduce<kWarp>(value, op);
    const int thread = static_cast<int>(threadIdx.x);
    if (thread % kWarp == 0) slots[thread / kWarp] = value;
    __syncthreads();
    value = slots[thread / kGroup * kWarps + thread % kWarps];
    __syncthreads();
    return warp_reduce<kWarps>(value, op);
  }
}

}  // namespace gpuforge
