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

// The last tile is not full, and all of it is added.
template <bool kBug>
__global__ void ragged_tile(u32* out, const u32* in, u32 n) {
  __shared__ u32 tile[32];
  u32 sum = 0;
  for (u32 first = 0; first < n; first += 32) {
    if (first + threadIdx.x < n)
      tile[threadIdx.x] = in[first + threadIdx.x];
    else if (!kBug)
      tile[threadIdx.x] = 0;
    __syncthreads();
    for (u32 i = 0; i < 32; ++i) sum += tile[i];
    __syncthreads();
  }
  out[threadIdx.x] = sum;  // BUG(ragged_tile): uninitialized@global
}

// One element of an array is left out.
template <bool kBug>
__global__ void skipped_element(u32* out, const u32* in, u32 n) {
  u32 words[8];
  for (u32 i = kBug ? 1 : 0; i < 8; ++i) words[i * n % 8] = in[threadIdx.x] + i;
  u32 sum = 0;
  for (u32 i = 0; i < 8; ++i) sum += words[(i + n) % 8];
  out[threadIdx.x] = sum;  // BUG(skipped_element): uninitialized@global
}

// The output is added to before anything was written there.
template <bool kBug>
__global__ void adds_to_output(u32* out, const u32* in, u32) {
  if (!kBug) out[threadIdx.x] = 0;
  out[threadIdx.x] += in[threadIdx.x];  // BUG(adds_to_output): uninitialized@global
}

template <bool kBug>
__global__ void atomic_on_global(u32* out, const u32* in, u32) {
  if (!kBug && threadIdx.x == 0) out[0] = 0;
  __syncthreads();
  atomicAdd(out, in[threadIdx.x]);  // BUG(atomic_on_global): uninitialized@global
}

// Through arguments and results of functions.
__device__ __noinline__ u32 twice(u32 word) {
  return word * 2;
}
__device__ __noinline__ u32 element_of(const u32* in, u32 at, u32 n, bool all) {
  u32 words[4];
  for (u32 i = all ? 0 : 1; i < 4; ++i) words[i * n % 4] = in[i];
  return words[at];
}
template <bool kBug>
__global__ void through_functions(u32* out, const u32* in, u32 n) {
  // BUG(through_functions): uninitialized@global
  out[threadIdx.x] = twice(element_of(in, threadIdx.x % 4, n, !kBug));
}

template <bool kBug>
__global__ void through_printf(u32* out, const u32* in, u32 n) {
  const u32 word = element_of(in, threadIdx.x % 4, n, !kBug);
  printf("%u %u\n", threadIdx.x, word);  // BUG(through_printf): uninitialized
  out[threadIdx.x] = 1;
}

// Bytes are copied one by one, and half of them are there.
template <bool kBug>
__global__ void bytes_to_global(u32* out, const u32* in, u32) {
  __shared__ unsigned char bytes[32];
  if (!kBug || threadIdx.x < 16) bytes[threadIdx.x] = static_cast<unsigned char>(in[threadIdx.x]);
  __syncthreads();
  // BUG(bytes_to_global): uninitialized@global
  reinterpret_cast<unsigned char*>(out)[threadIdx.x] = bytes[threadIdx.x];
}

// One field of a word is set, and another decides.
struct Fields {
  u32 kind : 3;
  u32 level : 7;
  u32 rest : 22;
};
template <bool kBug>
__global__ void field_to_branch(u32* out, const u32* in, u32) {
  __shared__ Fields fields[32];
  fields[threadIdx.x].kind = in[threadIdx.x] % 8;
  __syncthreads();
  if (!kBug || threadIdx.x != 9) fields[threadIdx.x].level = 1;
  __syncthreads();
  u32 result = fields[threadIdx.x].kind;
  if (fields[threadIdx.x].level == 1)  // BUG(field_to_branch): uninitialized
    result = atomicAdd(out + 32, 1u) & 0;
  out[threadIdx.x] = result;
}
