// Code within a block that looks suspicious and is right.
using u32 = unsigned;

// A lock with fences; every thread of a warp takes it in turn.
extern "C" __global__ void lock_in_warp(u32* out, const u32*, u32) {
  bool done = false;
  while (!done) {
    if (atomicCAS(out, 0u, 1u) == 0) {
      __threadfence();
      out[1] += threadIdx.x;
      __threadfence();
      atomicExch(out, 0u);
      done = true;
    }
  }
}

extern "C" __global__ void histogram(u32* out, const u32* in, u32 n) {
  __shared__ u32 bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[in[i] % 16], 1u);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(out + threadIdx.x, bins[threadIdx.x]);
}

// Many threads and blocks store one value to one word.
extern "C" __global__ void same_value(u32* out, const u32* in, u32) {
  __shared__ u32 found;
  found = 0;
  __syncthreads();
  if (in[threadIdx.x] % 7 == 0) found = 1;
  __syncthreads();
  if (found) out[0] = 1;
}

// A bool in shared memory written by one thread between barriers, again and again.
extern "C" __global__ void flag_between_barriers(u32* out, const u32* in, u32) {
  __shared__ bool more;
  u32 rounds = 0;
  do {
    __syncthreads();
    if (threadIdx.x == 0) more = rounds < in[0];
    __syncthreads();
    ++rounds;
  } while (more);
  out[threadIdx.x] = rounds;
}

// One warp fills two buffers, one reads them: full and free barriers, 1 + buffer and 3 + buffer.
extern "C" __global__ void producer_consumer(u32* out, const u32* in, u32 n) {
  __shared__ u32 buffers[2][32];
  const u32 lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (u32 i = 0; i < n; ++i) {
      if (i >= 2) asm volatile("bar.sync %0, 64;" ::"r"(3 + i % 2) : "memory");
      buffers[i % 2][lane] = in[i * 32 + lane];
      asm volatile("bar.arrive %0, 64;" ::"r"(1 + i % 2) : "memory");
    }
  } else {
    u32 sum = 0;
    for (u32 i = 0; i < n; ++i) {
      asm volatile("bar.sync %0, 64;" ::"r"(1 + i % 2) : "memory");
      sum += buffers[i % 2][31 - lane];
      if (i + 2 < n) asm volatile("bar.arrive %0, 64;" ::"r"(3 + i % 2) : "memory");
    }
    out[lane] = sum;
  }
}

// Four threads write the bytes of a word, in shared and in global memory.
extern "C" __global__ void bytes_of_words(u32* out, const u32* in, u32) {
  __shared__ unsigned char bytes[64];
  bytes[threadIdx.x] = static_cast<unsigned char>(in[threadIdx.x]);
  reinterpret_cast<unsigned char*>(out)[threadIdx.x] = static_cast<unsigned char>(in[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x < 16) out[16 + threadIdx.x] = reinterpret_cast<const u32*>(bytes)[threadIdx.x];
}

// Bits 0 to 7 and 8 to 31 of a word by two warps with 8- and 16-bit stores.
extern "C" __global__ void mixed_widths(u32* out, const u32* in, u32) {
  __shared__ u32 words[32];
  const u32 lane = threadIdx.x % 32;
  auto* const halves = reinterpret_cast<unsigned short*>(words);
  auto* const bytes = reinterpret_cast<unsigned char*>(words);
  if (threadIdx.x < 32) {
    bytes[4 * lane] = static_cast<unsigned char>(in[lane]);
    bytes[4 * lane + 1] = 0;
  } else {
    halves[2 * lane + 1] = static_cast<unsigned short>(in[lane]);
  }
  __syncthreads();
  out[threadIdx.x] = words[31 - lane];
}

// Shared memory used for one thing, then for another; between the two a barrier.
extern "C" __global__ void reuse(u32* out, const u32* in, u32) {
  __shared__ u32 words[64];
  words[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const u32 one = words[63 - threadIdx.x];
  __syncthreads();
  reinterpret_cast<unsigned short*>(words)[threadIdx.x] = static_cast<unsigned short>(one);
  __syncthreads();
  out[threadIdx.x] = reinterpret_cast<unsigned short*>(words)[63 - threadIdx.x];
}

// The barrier is reached by all, but through two calls of one function, as a loop over halves of the block.
__device__ __noinline__ void store_and_sync(u32* words, u32 at, u32 value) {
  words[at] = value;
  __syncthreads();
}
extern "C" __global__ void barrier_in_function(u32* out, const u32* in, u32) {
  __shared__ u32 words[64];
  store_and_sync(words, threadIdx.x, in[threadIdx.x]);
  const u32 other = words[63 - threadIdx.x];
  __syncthreads();
  store_and_sync(words, threadIdx.x, other + 1);
  out[threadIdx.x] = words[threadIdx.x ^ 1];
}

// Flags in shared memory between two warps: volatile polls and a fence of the block.
extern "C" __global__ void shared_flag(u32* out, const u32* in, u32) {
  __shared__ u32 words[32];
  __shared__ volatile u32 flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();  // spare: volatile accesses do not race
  const u32 lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    words[lane] = in[lane];
    __threadfence_block();
    __syncwarp();
    if (lane == 0) flag = 1;
  } else {
    while (flag == 0) {
    }
    __threadfence_block();
    out[lane] = words[31 - lane];
  }
}

// __syncthreads from two places: warps may take different paths, as long as a whole warp takes one.
extern "C" __global__ void barrier_from_two_branches(u32* out, const u32* in, u32) {
  __shared__ u32 words[64];
  words[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x < 32) {
    __syncthreads();
    out[threadIdx.x] = words[63 - threadIdx.x] + 1;
  } else {
    __syncthreads();
    out[threadIdx.x] = words[63 - threadIdx.x] + 2;
  }
}

// Barriers that also vote are barriers.
extern "C" __global__ void voting_barriers(u32* out, const u32* in, u32) {
  __shared__ u32 words[64];
  words[threadIdx.x] = in[threadIdx.x];
  const int any = __syncthreads_or(in[threadIdx.x] == 5);
  u32 sum = words[63 - threadIdx.x] + (any != 0 ? 1 : 0);
  const int all = __syncthreads_and(in[threadIdx.x] > 0);
  words[threadIdx.x] = sum;
  const int count = __syncthreads_count(in[threadIdx.x] > 60);
  out[threadIdx.x] = words[threadIdx.x ^ 32] + (all != 0 ? 100 : 0) + static_cast<u32>(count) * 1000;
}

// Threads beyond n return before the barrier, which waits for the others alone.
extern "C" __global__ void barrier_after_return(u32* out, const u32* in, u32 n) {
  __shared__ u32 words[128];
  if (threadIdx.x >= n) return;
  words[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = words[n - 1 - threadIdx.x];
}

// One warp hands words to another with a release and an acquire of the block's scope.
extern "C" __global__ void release_in_block(u32* out, const u32* in, u32) {
  __shared__ u32 words[32];
  __shared__ u32 flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  const u32 lane = threadIdx.x % 32;
  const auto at = static_cast<u32>(__cvta_generic_to_shared(&flag));
  if (threadIdx.x < 32) {
    words[lane] = in[lane];
    __syncwarp();
    if (lane == 0) asm volatile("st.release.cta.shared.u32 [%0], 1;" ::"r"(at) : "memory");
  } else {
    u32 seen = 0;
    do asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(seen) : "r"(at) : "memory");
    while (seen == 0);
    out[lane] = words[31 - lane];
  }
}

// Two warps fill one of two buffers while two others read the other one: full and free barriers of 128
// threads, 1 + buffer and 3 + buffer.
extern "C" __global__ void two_and_two(u32* out, const u32* in, u32 n) {
  __shared__ u32 buffers[2][64];
  const u32 thread = threadIdx.x % 64;
  if (threadIdx.x < 64) {
    for (u32 i = 0; i < n; ++i) {
      if (i >= 2) asm volatile("barrier.sync %0, 128;" ::"r"(3 + i % 2) : "memory");
      buffers[i % 2][thread] = in[i * 64 + thread];
      asm volatile("barrier.arrive %0, 128;" ::"r"(1 + i % 2) : "memory");
    }
    return;
  }
  u32 sum = 0;
  for (u32 i = 0; i < n; ++i) {
    asm volatile("barrier.sync %0, 128;" ::"r"(1 + i % 2) : "memory");
    sum += buffers[i % 2][63 - thread];
    if (i + 2 < n) asm volatile("barrier.arrive %0, 128;" ::"r"(3 + i % 2) : "memory");
  }
  out[thread] = sum;
}
