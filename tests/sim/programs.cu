// Whole kernels as people write them, all right: no finding, and the result.
using u32 = unsigned;
using u64 = unsigned long long;
constexpr u32 kAll = 0xffffffffu;

// out = a * b, 48 x 48, tiles of 16 x 16. in holds a, then b.
extern "C" __global__ void matmul(u32* out, const u32* __restrict__ in, u32 n) {
  __shared__ u32 a[16][16], b[16][17];
  const u32 row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  u32 sum = 0;
  for (u32 k = 0; k < n; k += 16) {
    a[threadIdx.y][threadIdx.x] = row < n && k + threadIdx.x < n ? in[row * n + k + threadIdx.x] : 0;
    b[threadIdx.y][threadIdx.x] =
        column < n && k + threadIdx.y < n ? in[n * n + (k + threadIdx.y) * n + column] : 0;
    __syncthreads();
    for (u32 i = 0; i < 16; ++i) sum += a[threadIdx.y][i] * b[i][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n) out[row * n + column] = sum;
}

// Sum of a block: shuffles in each warp, one word a warp in shared memory, shuffles in the first.
extern "C" __global__ void block_sum(u32* out, const u32* in, u32 n) {
  __shared__ u32 sums[32];
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u32 sum = 0;
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += in[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(kAll, sum, d);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = lane < blockDim.x / 32 ? sums[lane] : 0;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(kAll, sum, d);
    if (lane == 0) atomicAdd(out, sum);
  }
}

// Inclusive scan of a block of 256: shuffles, then the warps' sums.
extern "C" __global__ void block_scan(u32* out, const u32* in, u32) {
  __shared__ u32 sums[8];
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u32 value = in[threadIdx.x];
  for (u32 d = 1; d < 32; d *= 2) {
    const u32 left = __shfl_up_sync(kAll, value, d);
    if (lane >= d) value += left;
  }
  if (lane == 31) sums[warp] = value;
  __syncthreads();
  if (threadIdx.x < 8) {
    u32 sum = sums[threadIdx.x];
    for (u32 d = 1; d < 8; d *= 2) {
      const u32 left = __shfl_up_sync(0xffu, sum, d);
      if (threadIdx.x >= d) sum += left;
    }
    sums[threadIdx.x] = sum;
  }
  __syncthreads();
  out[threadIdx.x] = value + (warp > 0 ? sums[warp - 1] : 0);
}

// Blocks take pieces of work until none is left. out: [0] next, [1..n] results.
extern "C" __global__ void work_queue(u32* out, const u32* in, u32 n) {
  __shared__ u32 piece;
  while (true) {
    if (threadIdx.x == 0) piece = atomicAdd(out, 1u);
    __syncthreads();
    const u32 mine = piece;
    if (mine * 32 >= n) break;
    if (threadIdx.x < 32) out[1 + mine * 32 + threadIdx.x] = in[mine * 32 + threadIdx.x] * 2;
    __syncthreads();
  }
}

// A hash table of 64 keys with open addressing: compare-and-swap takes a slot, its owner writes the value.
extern "C" __global__ void hash_table(u32* out, const u32* in, u32) {
  __shared__ u32 keys[64], values[64];
  keys[threadIdx.x] = 0;
  __syncthreads();
  const u32 key = in[threadIdx.x];
  u32 slot = key * 7 % 64;
  while (true) {
    const u32 old = atomicCAS(&keys[slot], 0u, key);
    if (old == 0 || old == key) break;
    slot = (slot + 1) % 64;
  }
  values[slot] = key * 10;
  __syncthreads();
  slot = (64 - threadIdx.x) * 7 % 64;
  while (keys[slot] != 64 - threadIdx.x) slot = (slot + 1) % 64;
  out[threadIdx.x] = values[slot];
}

// A list every thread pushes a node on; the last block adds it up. out: [0] sum, [1] blocks that are done.
__device__ u32 list_head;
__device__ u32 list_next[128], list_values[128];
extern "C" __global__ void linked_list(u32* out, const u32* in, u32) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  list_values[i] = in[i];
  u32 head = *static_cast<volatile u32*>(&list_head);
  while (true) {
    list_next[i] = head;
    const u32 seen = atomicCAS(&list_head, head, i + 1);
    if (seen == head) break;
    head = seen;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    const bool last = atomicAdd(out + 1, 1u) == gridDim.x - 1;
    __threadfence();
    if (last) {
      u32 sum = 0;
      for (u32 at = *static_cast<volatile u32*>(&list_head); at != 0; at = list_next[at - 1])
        sum += list_values[at - 1];
      out[0] = sum;
    }
  }
}

// One step of a radix sort by the lowest two bits of 128 keys.
extern "C" __global__ void radix_step(u32* out, const u32* in, u32) {
  __shared__ u32 counts[4][4], starts[4][4];  // [digit][warp]
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const u32 key = in[threadIdx.x], digit = key & 3;
  const u32 same = __match_any_sync(kAll, digit);
  const u32 before = __popc(same & ((1u << lane) - 1));
  if (lane < 4) counts[lane][warp] = 0;
  __syncwarp();
  if (before == 0) counts[digit][warp] = __popc(same);
  __syncthreads();
  if (threadIdx.x == 0) {
    u32 sum = 0;
    for (u32 d = 0; d < 4; ++d)
      for (u32 w = 0; w < 4; ++w) {
        starts[d][w] = sum;
        sum += counts[d][w];
      }
  }
  __syncthreads();
  out[starts[digit][warp] + before] = key;
}

// out = in[-1] + in + in[+1] with a halo in shared memory given at the launch.
extern "C" __global__ void stencil(u32* out, const u32* in, u32 n) {
  extern __shared__ u32 words[];
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int last = static_cast<int>(n) - 1;
  words[threadIdx.x + 1] = i <= last ? in[i] : 0;
  if (threadIdx.x == 0) words[0] = i > 0 ? in[i - 1] : 0;
  if (threadIdx.x == blockDim.x - 1) words[blockDim.x + 1] = i < last ? in[i + 1] : 0;
  __syncthreads();
  if (i <= last) out[i] = words[threadIdx.x] + words[threadIdx.x + 1] + words[threadIdx.x + 2];
}

// Functions through pointers and a switch.
__device__ __noinline__ u32 twice(u32 x) {
  return 2 * x;
}
__device__ __noinline__ u32 square(u32 x) {
  return x * x;
}
__device__ u32 (*const functions[])(u32) = {twice, square};
extern "C" __global__ void dispatch(u32* out, const u32* in, u32 n) {
  u32 value = functions[in[threadIdx.x] % n](in[threadIdx.x]);
  switch (in[threadIdx.x] % 7) {
    case 0:
      value += 3;
      break;
    case 1:
      value ^= 5;
      break;
    case 2:
      value *= 7;
      break;
    case 3:
      value -= 9;
      break;
    case 4:
      value = ~value;
      break;
    case 5:
      value <<= 2;
      break;
  }
  out[threadIdx.x] = value;
}

// Lanes that have ended do not matter to those that shuffle with a full mask.
extern "C" __global__ void ended_lanes(u32* out, const u32* in, u32 n) {
  if (threadIdx.x >= n) return;
  const u32 value = __shfl_sync(kAll, in[threadIdx.x], 0);
  __syncwarp();  // spare: no memory is shared
  out[threadIdx.x] = value + (__any_sync(kAll, threadIdx.x == n - 1) ? 1 : 0);
}

// Doubles and 64-bit values through shuffles, packed atomics, byte vectors.
extern "C" __global__ void wide_values(u32* out, const u32* in, u32) {
  const double value = __shfl_xor_sync(kAll, in[threadIdx.x] * 0.5, 3);
  u64 wide = __shfl_down_sync(kAll, (u64{in[threadIdx.x]} << 33) | 1, 1);
  __shared__ u64 best;
  if (threadIdx.x == 0) best = 0;
  __syncthreads();
  atomicMax(&best, wide);
  uchar4 bytes = reinterpret_cast<const uchar4*>(in)[threadIdx.x];
  bytes.y = 1;
  __syncthreads();
  reinterpret_cast<uchar4*>(out)[threadIdx.x] = bytes;
  if (threadIdx.x == 0) {
    out[32] = static_cast<u32>(best >> 33);
    out[33] = static_cast<u32>(value * 2);
  }
}

// Odd-even sort of 64 keys in one block.
extern "C" __global__ void odd_even_sort(u32* out, const u32* in, u32) {
  __shared__ u32 keys[64];
  keys[threadIdx.x] = in[threadIdx.x];
  for (u32 round = 0; round < 64; ++round) {
    __syncthreads();
    if (threadIdx.x % 2 == round % 2 && threadIdx.x < 63) {
      const u32 a = keys[threadIdx.x], b = keys[threadIdx.x + 1];
      keys[threadIdx.x] = min(a, b);
      keys[threadIdx.x + 1] = max(a, b);
    }
  }
  __syncthreads();
  out[threadIdx.x] = keys[threadIdx.x];
}

// A lock with back-off guards several words; the critical section has branches. out: [0] lock, [1] count, [2]
// sum.
extern "C" __global__ void guarded(u32* out, const u32* in, u32) {
  if (threadIdx.x == 0) {
    u32 wait = 8;
    while (atomicExch(out, 1u) != 0) {
      __nanosleep(wait);
      wait = min(wait * 2, 256u);
    }
    __threadfence();
    out[1] += 1;
    if (in[blockIdx.x] % 2 == 0) out[2] += in[blockIdx.x];
    __threadfence();
    atomicExch(out, 0u);
  }
}

// Fractals diverge: every lane leaves its loop when it likes.
extern "C" __global__ void collatz(u32* out, const u32* in, u32) {
  u32 value = in[threadIdx.x];
  u32 steps = 0;
  while (value != 1) {
    value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    ++steps;
    if (steps > 1000) break;
  }
  out[threadIdx.x] = steps;
}

// A local stack: quick sort of eight keys a thread without recursion.
extern "C" __global__ void local_sort(u32* out, const u32* in, u32) {
  u32 keys[8];
  int stack[16];
  int top = 0;
  for (u32 i = 0; i < 8; ++i) keys[i] = in[(threadIdx.x * 8 + i * 5) % 32];
  stack[top++] = 0;
  stack[top++] = 7;
  while (top > 0) {
    const int high = stack[--top], low = stack[--top];
    if (low >= high) continue;
    const u32 pivot = keys[high];
    int at = low;
    for (int i = low; i < high; ++i)
      if (keys[i] < pivot) {
        const u32 other = keys[at];
        keys[at] = keys[i];
        keys[i] = other;
        ++at;
      }
    keys[high] = keys[at];
    keys[at] = pivot;
    stack[top++] = low;
    stack[top++] = at - 1;
    stack[top++] = at + 1;
    stack[top++] = high;
  }
  for (u32 i = 0; i < 8; ++i) out[threadIdx.x * 8 + i] = keys[i];
}
