// Results that depend on the order in which blocks and warps run, without a race.
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
