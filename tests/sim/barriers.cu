// Barriers of a block that not everyone reaches, or not in the same way.
using u32 = unsigned;

// A barrier in a branch that half of each warp takes.
template <bool kBug>
__global__ void divergent(u32* out, const u32* in, u32) {
  u32 value = in[threadIdx.x];
  if (!kBug || value % 2 == 0) {
    value += 1;
    __syncthreads();  // BUG(divergent): barrier
    value *= 2;
  }
  __syncthreads();  // BUG(divergent): barrier?
  out[threadIdx.x] = value;
}

// A warp returns before a barrier that counts it.
template <bool kBug>
__global__ void after_return(u32* out, const u32* in, u32 n) {
  __shared__ u32 words[64];
  if (kBug && threadIdx.x >= n) return;
  if (threadIdx.x < n) words[threadIdx.x] = in[threadIdx.x];
  asm volatile("bar.sync 1, 64;" ::: "memory");  // BUG(after_return): barrier
  if (threadIdx.x < n) out[threadIdx.x] = words[n - 1 - threadIdx.x];
}

// A count that is no number of warps.
template <bool kBug>
__global__ void odd_count(u32* out, const u32* in, u32 n) {
  asm volatile("bar.sync 1, %0;" ::"r"(kBug ? n : 64) : "memory");  // BUG(odd_count): barrier
  out[threadIdx.x] = in[threadIdx.x];
}

// Three warps are waited for, and there are two.
template <bool kBug>
__global__ void too_few(u32* out, const u32* in, u32) {
  asm volatile("bar.sync 1, %0;" ::"r"(kBug ? 96 : 64) : "memory");  // BUG(too_few): deadlock
  out[threadIdx.x] = in[threadIdx.x];
}

// One barrier with two counts.
template <bool kBug>
__global__ void two_counts(u32* out, const u32* in, u32) {
  const u32 count = kBug && threadIdx.x >= 32 ? 32 : 64;
  asm volatile("bar.sync 1, %0;" ::"r"(count) : "memory");  // BUG(two_counts): barrier deadlock?
  out[threadIdx.x] = in[threadIdx.x];
}

template <bool kBug>
__global__ void no_such_barrier(u32* out, const u32* in, u32 n) {
  asm volatile("bar.sync %0, 64;" ::"r"(kBug ? n : 15) : "memory");  // BUG(no_such_barrier): barrier
  out[threadIdx.x] = in[threadIdx.x];
}

// Two warps take two barriers in opposite order.
template <bool kBug>
__global__ void crossed(u32* out, const u32* in, u32) {
  if (kBug && threadIdx.x >= 32) {
    asm volatile("bar.sync 2, 64;" ::: "memory");  // BUG(crossed): deadlock?
    asm volatile("bar.sync 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");  // BUG(crossed): deadlock
    asm volatile("bar.sync 2, 64;" ::: "memory");
  }
  out[threadIdx.x] = in[threadIdx.x];
}

// A loop with a barrier of two warps that they leave at different times.
template <bool kBug>
__global__ void uneven_loop(u32* out, const u32* in, u32 n) {
  const u32 rounds = kBug ? 1 + threadIdx.x / 32 : n;
  u32 value = in[threadIdx.x];
  for (u32 i = 0; i < rounds; ++i) {
    value += 1;
    asm volatile("bar.sync 1, 64;" ::: "memory");  // BUG(uneven_loop): barrier
  }
  out[threadIdx.x] = value;
}
