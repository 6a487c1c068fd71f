// Races in shared memory. Each kernel has its bug with kBug and is right without; the lines that race are
// marked.
using u32 = unsigned;

// One 32 x 32 tile by 32 x 8 threads.
template <bool kBug>
__global__ void transpose(u32* out, const u32* in, u32) {
  __shared__ u32 tile[32][33];
  for (int row = threadIdx.y; row < 32; row += 8)
    tile[row][threadIdx.x] = in[row * 32 + threadIdx.x];  // BUG(transpose): race@shared
  if constexpr (!kBug) __syncthreads();
  for (int row = threadIdx.y; row < 32; row += 8)
    // BUG(transpose): race@shared uninitialized@global?
    out[row * 32 + threadIdx.x] = tile[threadIdx.x][row];
}

// out[0] = sum of 256 values; the tree's barrier is missing between its levels.
template <bool kBug>
__global__ void reduce_tree(u32* out, const u32* in, u32) {
  __shared__ u32 sums[256];
  sums[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (u32 half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];  // BUG(reduce_tree): race@shared
    if constexpr (!kBug) __syncthreads();
  }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = sums[0];
}

// Inclusive scan of 128 values; the barrier between a step's reads and its writes is missing.
template <bool kBug>
__global__ void scan(u32* out, const u32* in, u32) {
  __shared__ u32 sums[128];
  sums[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (u32 step = 1; step < 128; step *= 2) {
    u32 left = 0;
    if (threadIdx.x >= step) left = sums[threadIdx.x - step];  // BUG(scan): race@shared
    if constexpr (!kBug) __syncthreads();
    sums[threadIdx.x] += left;  // BUG(scan): race@shared
    __syncthreads();
  }
  out[threadIdx.x] = sums[threadIdx.x];
}

// A warp adds 32 values through shared memory.
template <bool kBug>
__global__ void warp_sum(u32* out, const u32* in, u32) {
  __shared__ u32 sums[64];
  sums[threadIdx.x] = in[threadIdx.x];  // BUG(warp_sum): race@shared?
  sums[threadIdx.x + 32] = 0;           // BUG(warp_sum): race@shared
  for (u32 half = 16; half > 0; half /= 2) {
    if constexpr (!kBug) __syncwarp();
    const u32 other = sums[threadIdx.x + half];  // BUG(warp_sum): race@shared
    if constexpr (!kBug) __syncwarp();
    sums[threadIdx.x] += other;  // BUG(warp_sum): race@shared uninitialized@shared?
  }
  if (threadIdx.x == 0) out[0] = sums[0];
}

// Four tiles of 64 values through two buffers: out = sum over the tiles of each tile reversed. Two buffers do
// not make up for the second barrier here, because the refill goes into the buffer that is being read.
template <bool kBug>
__global__ void double_buffer(u32* out, const u32* in, u32) {
  __shared__ u32 buffers[2][64];
  u32 sum = 0;
  buffers[0][threadIdx.x] = in[threadIdx.x];
  for (u32 tile = 0; tile < 4; ++tile) {
    __syncthreads();
    sum += buffers[tile % 2][63 - threadIdx.x];  // BUG(double_buffer): race@shared
    if (tile + 1 < 4) {
      if constexpr (!kBug) __syncthreads();
      const u32 to = kBug ? tile % 2 : (tile + 1) % 2;
      buffers[to][threadIdx.x] = in[(tile + 1) * 64 + threadIdx.x];  // BUG(double_buffer): race@shared
    }
  }
  out[threadIdx.x] = sum;  // BUG(double_buffer): uninitialized@global?
}

// One buffer refilled in a loop: the barrier after the reads is missing.
template <bool kBug>
__global__ void refill(u32* out, const u32* in, u32) {
  __shared__ u32 buffer[64];
  u32 sum = 0;
  for (u32 tile = 0; tile < 4; ++tile) {
    buffer[threadIdx.x] = in[tile * 64 + threadIdx.x];  // BUG(refill): race@shared
    __syncthreads();
    sum += buffer[63 - threadIdx.x];  // BUG(refill): race@shared
    if constexpr (!kBug) __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// Lanes of one warp store different values to one word.
template <bool kBug>
__global__ void same_word(u32* out, const u32* in, u32) {
  __shared__ u32 word;
  word = kBug ? in[threadIdx.x] : in[31];  // BUG(same_word): race@shared
  __syncthreads();
  if (threadIdx.x == 0) out[0] = word;
}

// Warp 0 produces, warp 1 consumes: bar.arrive before the last store says too early that the data is there.
template <bool kBug>
__global__ void arrive_early(u32* out, const u32* in, u32) {
  __shared__ u32 words[32];
  const u32 lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    if constexpr (kBug) asm volatile("bar.arrive 1, 64;" ::: "memory");
    words[lane] = in[lane] * 2;  // BUG(arrive_early): race@shared
    if constexpr (!kBug) asm volatile("bar.arrive 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[lane] = words[31 - lane];  // BUG(arrive_early): race@shared uninitialized@global?
  }
  __syncthreads();
}

// The same, and the producer ends at once: that it is gone orders nothing, as the barrier did not wait for
// its end.
template <bool kBug>
__global__ void arrive_and_exit(u32* out, const u32* in, u32) {
  __shared__ u32 words[32];
  const u32 lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    if constexpr (kBug) asm volatile("bar.arrive 1, 64;" ::: "memory");
    words[lane] = in[lane] * 2;  // BUG(arrive_and_exit): race@shared
    if constexpr (!kBug) asm volatile("bar.arrive 1, 64;" ::: "memory");
    return;
  }
  asm volatile("bar.sync 1, 64;" ::: "memory");
  out[lane] = words[31 - lane];  // BUG(arrive_and_exit): race@shared uninitialized@global?
}

// A barrier for two of three warps does not order the third.
template <bool kBug>
__global__ void wrong_barrier(u32* out, const u32* in, u32) {
  __shared__ u32 words[96];
  words[threadIdx.x] = in[threadIdx.x];  // BUG(wrong_barrier): race@shared
  if (kBug) {
    if (threadIdx.x < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 96;" ::: "memory");
  }
  out[threadIdx.x] = words[95 - threadIdx.x];  // BUG(wrong_barrier): race@shared uninitialized@global?
}

// A shared counter without an atomic.
template <bool kBug>
__global__ void counter(u32* out, const u32* in, u32) {
  __shared__ u32 bins[4];
  if (threadIdx.x < 4) bins[threadIdx.x] = 0;
  __syncthreads();
  if constexpr (kBug)
    bins[in[threadIdx.x] % 4] += 1;  // BUG(counter): race@shared
  else
    atomicAdd(&bins[in[threadIdx.x] % 4], 1u);
  __syncthreads();
  if (threadIdx.x < 4) out[threadIdx.x] = bins[threadIdx.x];
}

// A shuffle moves values between lanes and orders no memory.
template <bool kBug>
__global__ void shuffle_orders_nothing(u32* out, const u32* in, u32) {
  __shared__ u32 words[32];
  words[threadIdx.x] = in[threadIdx.x];  // BUG(shuffle_orders_nothing): race@shared
  const u32 zero = __shfl_sync(0xffffffffu, in[threadIdx.x] & 0, 0);
  if constexpr (!kBug) __syncwarp();
  out[threadIdx.x] = words[(31 - threadIdx.x) + zero];  // BUG(shuffle_orders_nothing): race@shared
}

// The warp's barrier names half of the lanes that read.
template <bool kBug>
__global__ void partial_syncwarp(u32* out, const u32* in, u32) {
  __shared__ u32 words[32];
  words[threadIdx.x] = in[threadIdx.x];  // BUG(partial_syncwarp): race@shared
  __syncwarp(kBug ? threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u : 0xffffffffu);
  out[threadIdx.x] = words[31 - threadIdx.x];  // BUG(partial_syncwarp): race@shared
}

// Bins are read before everyone has counted.
template <bool kBug>
__global__ void early_read(u32* out, const u32* in, u32) {
  __shared__ u32 bins[4];
  if (threadIdx.x < 4) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[in[threadIdx.x] % 4], 1u);  // BUG(early_read): race@shared
  if constexpr (!kBug) __syncthreads();
  if (threadIdx.x < 4) out[threadIdx.x] = bins[threadIdx.x];  // BUG(early_read): race@shared
}

// A byte is stored while another thread reads the word it lies in.
template <bool kBug>
__global__ void byte_of_word(u32* out, const u32* in, u32) {
  __shared__ u32 words[16];
  // BUG(byte_of_word): race@shared
  reinterpret_cast<unsigned char*>(words)[threadIdx.x] = static_cast<unsigned char>(in[threadIdx.x]);
  if constexpr (!kBug) __syncthreads();
  // BUG(byte_of_word): race@shared uninitialized@global?
  if (threadIdx.x < 16) out[threadIdx.x] = words[threadIdx.x];
}

// Vectors of four that start at every second word.
template <bool kBug>
__global__ void overlapping_vectors(u32* out, const u32* in, u32) {
  __shared__ alignas(16) u32 words[136];
  const u32 at = threadIdx.x * (kBug ? 2 : 4);
  // BUG(overlapping_vectors): race@shared
  *reinterpret_cast<uint2*>(words + at) = {in[threadIdx.x], 1};
  *reinterpret_cast<uint2*>(words + at + 2) = {2, 3};  // BUG(overlapping_vectors): race@shared
  __syncthreads();
  out[threadIdx.x] = words[threadIdx.x * 4];  // BUG(overlapping_vectors): uninitialized@global?
}
