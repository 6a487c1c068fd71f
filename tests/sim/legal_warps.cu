// Code within a warp or a thread that looks suspicious and is right.
using u32 = unsigned;
constexpr u32 kAll = 0xffffffffu;

// Bitonic steps of one warp through shared memory.
extern "C" __global__ void warp_exchange(u32* out, const u32* in, u32) {
  __shared__ u32 words[32];
  const u32 lane = threadIdx.x;
  words[lane] = in[lane];
  __syncwarp();
  for (u32 size = 2; size <= 32; size *= 2)
    for (u32 stride = size / 2; stride > 0; stride /= 2) {
      const u32 other = words[lane ^ stride];
      const u32 own = words[lane];
      __syncwarp();
      const bool up = (lane & size) == 0;
      const bool low = (lane & stride) == 0;
      words[lane] = (up == low) ? min(own, other) : max(own, other);
      __syncwarp();
    }
  out[lane] = words[lane];
}

// Tiles of 8 and 16 lanes, each with its own mask, in different branches.
extern "C" __global__ void tiles(u32* out, const u32* in, u32) {
  __shared__ u32 words[64];
  const u32 lane = threadIdx.x % 32;
  const u32 width = threadIdx.x < 32 ? 8 : 16;
  const u32 first = lane / width * width;
  const u32 mask = (width == 8 ? 0xffu : 0xffffu) << first;
  u32 sum = in[threadIdx.x];
  if (lane / width % 2 == 0) {
    for (u32 half = width / 2; half > 0; half /= 2) sum += __shfl_down_sync(mask, sum, half, width);
    sum = __shfl_sync(mask, sum, 0, width);
  } else {
    words[threadIdx.x] = sum;
    __syncwarp(mask);
    sum = 0;
    for (u32 i = 0; i < width; ++i) sum += words[threadIdx.x - lane % width + i];
    __syncwarp(mask);
    words[threadIdx.x] = 0;
  }
  out[threadIdx.x] = sum;
}

// Whole warps end early; no barrier follows.
extern "C" __global__ void early_exit(u32* out, const u32* in, u32 n) {
  if (threadIdx.x >= n) return;
  u32 sum = in[threadIdx.x];
  const u32 mask = __ballot_sync(__activemask(), true);
  sum += __popc(mask);
  out[threadIdx.x] = sum;
}

// Lanes leave a loop at different times; those that are left shuffle among themselves.
extern "C" __global__ void divergent_loop(u32* out, const u32* in, u32) {
  u32 left = in[threadIdx.x] % 5;
  u32 mask = __ballot_sync(kAll, left > 0);
  u32 sum = 0;
  while (left > 0) {
    const u32 leader = __ffs(mask) - 1;
    sum += __shfl_sync(mask, left, leader);
    --left;
    mask = __ballot_sync(mask, left > 0);
  }
  out[threadIdx.x] = sum;
}

// The lanes that happen to be here add up for one atomic.
extern "C" __global__ void aggregated(u32* out, const u32* in, u32) {
  if (in[threadIdx.x] % 3 == 0) {
    const u32 here = __activemask();
    const u32 leader = __ffs(here) - 1;
    u32 first = 0;
    if (threadIdx.x % 32 == leader) first = atomicAdd(out, static_cast<u32>(__popc(here)));
    first = __shfl_sync(here, first, leader);
    const u32 at = first + __popc(here & ((1u << (threadIdx.x % 32)) - 1));
    atomicAdd(out + 1, at);
  }
}

// Structures with padding are copied whole through local memory.
struct Padded {
  unsigned char kind;
  u32 value;
  unsigned short tail;
};
extern "C" __global__ void padded_copy(u32* out, const u32* in, u32 n) {
  __shared__ Padded shared[32];
  Padded items[4];
  for (u32 i = 0; i < 4; ++i) {
    Padded one;
    one.kind = static_cast<unsigned char>(i);
    one.value = in[threadIdx.x] + i;
    one.tail = static_cast<unsigned short>(i * 2);
    items[(i * n) % 4] = one;
  }
  shared[threadIdx.x] = items[in[threadIdx.x] % 4];
  __syncthreads();
  const Padded other = shared[31 - threadIdx.x];
  out[threadIdx.x] = other.kind * 1000000 + other.value * 1000 + other.tail;
}

// A reduction's last steps in half of a warp: lanes read beyond the half, and nobody uses what they read.
extern "C" __global__ void half_warp_tail(u32* out, const u32* in, u32) {
  u32 sum = in[threadIdx.x];
  if (threadIdx.x < 16) {
    for (u32 half = 8; half > 0; half /= 2) sum += __shfl_down_sync(0x0000ffffu, sum, half);
    if (threadIdx.x == 0) out[0] = sum;
  }
}

// A value that not every path sets, used only where it was set.
extern "C" __global__ void set_where_used(u32* out, const u32* in, u32 n) {
  u32 words[4];
  const bool even = in[threadIdx.x] % 2 == 0;
  if (even) words[n % 4] = in[threadIdx.x];
  u32 result = 1;
  if (even) result = words[n % 4] * 2;
  out[threadIdx.x] = result;
}

// Votes, matches and reductions of a warp give values like any other.
extern "C" __global__ void warp_values(u32* out, const u32* in, u32) {
  const u32 value = in[threadIdx.x];
  u32 sum = __ballot_sync(kAll, value % 3 == 0);
  sum += __match_any_sync(kAll, value / 8);
  sum += __reduce_add_sync(kAll, value);
  sum += __any_sync(kAll, value == 32) ? 1 : 0;
  sum += __all_sync(kAll, value > 0) ? 1 : 0;
  int same = 0;
  sum += __match_all_sync(kAll, value / 64, &same);
  sum += same != 0 ? __activemask() : 0;
  sum += static_cast<u32>(__syncthreads_count(value > 16)) + (__syncthreads_or(value == 1) ? 1 : 0);
  out[threadIdx.x] = sum;
}

// The lanes of a warp meet in one shuffle from two branches, which CUDA's guide allows from Volta on.
extern "C" __global__ void shuffle_from_two_branches(u32* out, const u32* in, u32) {
  u32 value = in[threadIdx.x];
  if (threadIdx.x < 16) {
    value = value * 3;
    value = __shfl_xor_sync(kAll, value, 16) + 1;
  } else {
    value = value * 5;
    value = __shfl_xor_sync(kAll, value, 16) + 2;
  }
  out[threadIdx.x] = value;
}

// The same with a barrier of the warp.
extern "C" __global__ void syncwarp_from_two_branches(u32* out, const u32* in, u32) {
  __shared__ u32 words[32];
  if (threadIdx.x < 16) {
    words[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = words[31 - threadIdx.x] + 1;
  } else {
    words[threadIdx.x] = in[threadIdx.x] * 2;
    __syncwarp();
    out[threadIdx.x] = words[31 - threadIdx.x] + 2;
  }
}

// Vectors of which only some words are written, and only those are used.
extern "C" __global__ void part_of_a_vector(u32* out, const u32* in, u32) {
  __shared__ uint4 vectors[32];
  vectors[threadIdx.x].x = in[threadIdx.x];
  vectors[threadIdx.x].z = 3;
  __syncwarp();
  const uint4 one = vectors[31 - threadIdx.x];
  out[threadIdx.x] = one.x + one.z;
}

// Lanes beyond the data read what was never written, and a condition they know decides without it.
extern "C" __global__ void decided_without_it(u32* out, const u32* in, u32 n) {
  __shared__ u32 words[32];
  if (threadIdx.x < n) words[threadIdx.x] = in[threadIdx.x];
  __syncwarp();  // spare: every lane reads its own word
  const u32 value = words[threadIdx.x];
  out[threadIdx.x] = __ballot_sync(kAll, threadIdx.x < n && value > 10);
}
