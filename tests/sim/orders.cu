// Results that depend on the order in which blocks, warps and lanes run, without a race.
using u32 = unsigned;

// Keeps the values above 16: whoever comes first is first. The twin counts for each block where it begins.
template <bool kBug>
__global__ void compact(u32* out, const u32* in, u32) {
  const u32 value = in[blockIdx.x * blockDim.x + threadIdx.x];
  if (value <= 16) return;
  u32 at = 0;
  if constexpr (kBug)
    at = atomicAdd(out, 1u);
  else
    at = value - 17;
  out[1 + at] = value;
}

// The first block to take the word keeps it; the twin keeps the least.
template <bool kBug>
__global__ void first_wins(u32* out, const u32* in, u32) {
  if (threadIdx.x == 0) {
    if constexpr (kBug)
      atomicCAS(out, 0u, in[blockIdx.x]);
    else
      atomicMax(out, 100 - in[blockIdx.x]);
  }
}

// A sum of floats in the order of arrival; the twin adds whole numbers.
template <bool kBug>
__global__ void float_sum(u32* out, const u32* in, u32) {
  if constexpr (kBug)
    atomicAdd(reinterpret_cast<float*>(out),
              1.0f / static_cast<float>(in[blockIdx.x * blockDim.x + threadIdx.x]));
  else
    atomicAdd(reinterpret_cast<float*>(out), static_cast<float>(in[blockIdx.x * blockDim.x + threadIdx.x]));
}

// A warp adds 32 values as it was written before Volta: volatile keeps the compiler in order, not the lanes.
template <bool kBug>
__global__ void warp_sum(u32* out, const u32* in, u32) {
  __shared__ volatile u32 memory[2][64];
  volatile u32* const sums = memory[threadIdx.x / 32];
  const u32 lane = threadIdx.x % 32;
  sums[lane] = in[threadIdx.x];
  sums[lane + 32] = 0;
  __syncwarp();
  if constexpr (kBug) {
    sums[lane] = sums[lane] + sums[lane + 16];
    sums[lane] = sums[lane] + sums[lane + 8];
    sums[lane] = sums[lane] + sums[lane + 4];
    sums[lane] = sums[lane] + sums[lane + 2];
    sums[lane] = sums[lane] + sums[lane + 1];
  } else {
    for (u32 half = 16; half > 0; half /= 2) {
      const u32 sum = sums[lane] + sums[lane + half];
      __syncwarp();
      sums[lane] = sum;
      __syncwarp();
    }
  }
  if (lane == 0) out[threadIdx.x / 32] = sums[0];
}

// The same step by step in a loop that is left as it is.
template <bool kBug>
__global__ void warp_sum_loop(u32* out, const u32* in, u32) {
  __shared__ volatile u32 memory[2][64];
  volatile u32* const sums = memory[threadIdx.x / 32];
  const u32 lane = threadIdx.x % 32;
  sums[lane] = in[threadIdx.x];
  sums[lane + 32] = 0;
#pragma unroll 1
  for (u32 half = 16; half > 0; half /= 2) {
    if constexpr (!kBug) __syncwarp();
    const u32 sum = sums[lane] + sums[lane + half];
    if constexpr (!kBug) __syncwarp();
    sums[lane] = sum;
  }
  if (lane == 0) out[threadIdx.x / 32] = sums[0];
}

// Lanes take places in the order of an atomic; the twin counts those before it.
template <bool kBug>
__global__ void places_in_a_warp(u32* out, const u32* in, u32) {
  if (blockIdx.x != 0 || threadIdx.x >= 32) return;
  const bool kept = in[threadIdx.x] % 3 == 0;
  const u32 before = __popc(__ballot_sync(0xffffffffu, kept) & ((1u << threadIdx.x) - 1));
  if (!kept) return;
  const u32 at = kBug ? atomicAdd(out, 1u) : before;
  out[1 + at] = in[threadIdx.x];
}
