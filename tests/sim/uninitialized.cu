// Values never written that reach a store, a branch or an address.
using u32 = unsigned;

// Half of the tile is filled.
template <bool kBug>
__global__ void shared_to_store(u32* out, const u32* in, u32) {
  __shared__ u32 tile[64];
  if (!kBug || threadIdx.x < 32) tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x] + 1;  // BUG(shared_to_store): uninitialized@global
}

template <bool kBug>
__global__ void local_to_branch(u32* out, const u32* in, u32 n) {
  u32 words[8];
  for (u32 i = kBug ? 1 : 0; i < 8; ++i) words[(i * n) % 8] = 3;
  u32 result = 1;
  if (words[in[threadIdx.x] % 8] == 3)  // BUG(local_to_branch): uninitialized
    result = atomicAdd(out + 32, 1u) & 0;
  out[threadIdx.x] = result;
}

// `in` was allocated and never filled.
template <bool kBug>
__global__ void global_to_address(u32* out, const u32* in, u32) {
  const u32 at = kBug ? in[threadIdx.x] : threadIdx.x;
  out[at] = 1;  // BUG(global_to_address): uninitialized@global
}

template <bool kBug>
__global__ void global_to_store(u32* out, const u32* in, u32) {
  const float value = kBug ? __uint_as_float(in[threadIdx.x]) : 2.0f;
  // BUG(global_to_store): uninitialized@global
  out[threadIdx.x] = static_cast<u32>(value * 2.0f + 1.0f);
}

// A sum that starts from nothing.
template <bool kBug>
__global__ void accumulator(u32* out, const u32* in, u32 n) {
  __shared__ u32 sums[32];
  if constexpr (!kBug) sums[threadIdx.x] = 0;
  for (u32 i = 0; i < n; ++i)
    sums[threadIdx.x] += in[i * 32 + threadIdx.x];  // BUG(accumulator): uninitialized@shared
  out[threadIdx.x] = sums[threadIdx.x];             // BUG(accumulator): uninitialized@global?
}

// The value goes through a shuffle first.
template <bool kBug>
__global__ void through_shuffle(u32* out, const u32* in, u32) {
  __shared__ u32 words[32];
  if (!kBug || threadIdx.x != 5) words[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  const u32 other = __shfl_xor_sync(0xffffffffu, words[threadIdx.x], 1);
  out[threadIdx.x] = other;  // BUG(through_shuffle): uninitialized@global
}

template <bool kBug>
__global__ void atomic_on_shared(u32* out, const u32* in, u32) {
  __shared__ u32 bins[4];
  if (!kBug && threadIdx.x < 4) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[in[threadIdx.x] % 4], 1u);  // BUG(atomic_on_shared): uninitialized@shared
  __syncthreads();
  // BUG(atomic_on_shared): uninitialized@global?
  if (threadIdx.x < 4) out[threadIdx.x] = bins[threadIdx.x];
}

// A register of inline assembly that nothing writes.
template <bool kBug>
__global__ void asm_register(u32* out, const u32* in, u32) {
  u32 result;
  if constexpr (kBug)
    asm volatile("{ .reg .u32 t; add.u32 %0, t, %1; }" : "=r"(result) : "r"(in[threadIdx.x]));
  else
    asm volatile("{ .reg .u32 t; mov.u32 t, 1; add.u32 %0, t, %1; }" : "=r"(result) : "r"(in[threadIdx.x]));
  out[threadIdx.x] = result;  // BUG(asm_register): uninitialized@global
}

// A ballot over flags of which one was never set.
template <bool kBug>
__global__ void through_ballot(u32* out, const u32* in, u32) {
  __shared__ u32 flags[32];
  if (!kBug || threadIdx.x != 7) flags[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  const u32 votes = __ballot_sync(0xffffffffu, flags[threadIdx.x] > 16);
  if (threadIdx.x == 0) out[0] = votes;  // BUG(through_ballot): uninitialized@global
}
