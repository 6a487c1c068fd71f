// Accesses that miss their target. Each kernel has its bug with kBug and is right without.
using u32 = unsigned;
using u64 = unsigned long long;

// The last thread stores one past a shared tile.
template <bool kBug>
__global__ void shared_tile(u32* out, const u32* in, u32) {
  __shared__ u32 tile[32];
  const u32 at = (threadIdx.x + (kBug ? 1 : 0));
  tile[at] = in[threadIdx.x];   // BUG(shared_tile): out_of_bounds@shared
  out[threadIdx.x] = tile[at];  // BUG(shared_tile): out_of_bounds@shared?
}

// Shared memory given at the launch.
template <bool kBug>
__global__ void dynamic_tile(u32* out, const u32* in, u32) {
  extern __shared__ u32 words[];
  words[threadIdx.x] = in[threadIdx.x];  // BUG(dynamic_tile): out_of_bounds@shared
  __syncthreads();
  out[threadIdx.x] = words[threadIdx.x ^ 1];  // BUG(dynamic_tile): out_of_bounds@shared?
}

// One past the last element, by the last thread of the last block.
template <bool kBug>
__global__ void store_past_end(u32* out, const u32* in, u32) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i + (kBug ? 1 : 0)] = in[i];  // BUG(store_past_end): out_of_bounds@global
}

template <bool kBug>
__global__ void load_past_end(u32* out, const u32* in, u32 n) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  u32 right = 0;
  if (kBug ? i < n : i + 1 < n) right = in[i + 1];  // BUG(load_past_end): out_of_bounds@global
  if (i < n) out[i] = right;
}

template <bool kBug>
__global__ void negative_index(u32* out, const u32* in, u32) {
  const int i = static_cast<int>(threadIdx.x);
  u32 left = 0;
  if (kBug || i > 0) left = in[i - 1];  // BUG(negative_index): out_of_bounds@global
  out[i] = left;
}

// row * columns in 32 bits, where 64 are needed.
template <bool kBug>
__global__ void overflowed_index(u32* out, const u32* in, u32 n) {
  const int rows = static_cast<int>(n);
  const int at = kBug ? rows * rows : 3;
  out[0] = in[at];  // BUG(overflowed_index): out_of_bounds@global
}

// An index of 64 bits so large that the address wraps.
template <bool kBug>
__global__ void wrapped_address(u32* out, const u32* in, u32 n) {
  const u64 at = kBug ? static_cast<u64>(n) << 60 : n;
  out[0] = in[at];  // BUG(wrapped_address): out_of_bounds@global
}

template <bool kBug>
__global__ void null_pointer(u32* out, const u32* in, u32 n) {
  const u32* from = kBug ? reinterpret_cast<const u32*>(static_cast<u64>(n)) : in;
  out[threadIdx.x] = from[threadIdx.x];  // BUG(null_pointer): out_of_bounds@global
}

// A local array indexed by data.
template <bool kBug>
__global__ void local_array(u32* out, const u32* in, u32 n) {
  u32 words[8];
  for (u32 i = 0; i < 8; ++i) words[(i * n) % 8] = i;
  const u32 at = in[threadIdx.x];
  out[threadIdx.x] = words[kBug ? at + 1000000 : at % 8];  // BUG(local_array): out_of_bounds@local
}

template <bool kBug>
__global__ void misaligned_global(u32* out, const u32* in, u32) {
  // BUG(misaligned_global): misaligned@global
  const uint4 four = *reinterpret_cast<const uint4*>(in + 4 * threadIdx.x + (kBug ? 1 : 0));
  out[threadIdx.x] = four.x + four.y + four.z + four.w;
}

template <bool kBug>
__global__ void misaligned_store(u32* out, const u32* in, u32) {
  // BUG(misaligned_store): misaligned@global
  *reinterpret_cast<uint2*>(out + 2 * threadIdx.x + (kBug ? 1 : 0)) = {in[0], in[1]};
}

template <bool kBug>
__global__ void misaligned_shared(u32* out, const u32* in, u32) {
  __shared__ alignas(16) u32 tile[132];
  for (u32 i = threadIdx.x; i < 132; i += 32) tile[i] = in[i];
  __syncthreads();
  // BUG(misaligned_shared): misaligned@shared
  const uint4 four = *reinterpret_cast<const uint4*>(tile + 4 * threadIdx.x + (kBug ? 2 : 0));
  out[threadIdx.x] = four.x + four.y + four.z + four.w;
}

template <bool kBug>
__global__ void misaligned_local(u32* out, const u32* in, u32 n) {
  alignas(4) unsigned char bytes[8];
  for (u32 i = 0; i < 8; ++i) bytes[(i * n) % 8] = static_cast<unsigned char>(i * n);
  // BUG(misaligned_local): misaligned@local
  out[threadIdx.x] = *reinterpret_cast<const u32*>(bytes + (in[0] & (kBug ? 7 : 4)));
}

template <bool kBug>
__global__ void misaligned_atomic(u32* out, const u32*, u32) {
  // BUG(misaligned_atomic): misaligned@global
  atomicAdd(reinterpret_cast<u32*>(reinterpret_cast<char*>(out) + (kBug ? 2 : 4)), 1u);
}

// The test frees `in` before the launch with the bug.
template <bool kBug>
__global__ void freed(u32* out, const u32* in, u32) {
  out[threadIdx.x] = in[threadIdx.x];  // BUG(freed): use_after_free@global
}

__constant__ u32 table[4] = {10, 20, 30, 40};
__device__ u32 variable[4] = {10, 20, 30, 40};

template <bool kBug>
__global__ void constant_store(u32* out, const u32*, u32 n) {
  u32* words = kBug ? const_cast<u32*>(table) : variable;
  asm volatile("" : "+l"(words));  // a compiler that sees the store makes it a trap
  words[n] = 7;                    // BUG(constant_store): read_only@const
  __syncthreads();
  out[0] = table[1];
  out[1] = variable[1];
}

template <bool kBug>
__global__ void atomic_past_end(u32* out, const u32* in, u32) {
  atomicAdd(out + in[threadIdx.x] % (kBug ? 5 : 4), 1u);  // BUG(atomic_past_end): out_of_bounds@global
}

// A vector load whose last word lies past the end.
template <bool kBug>
__global__ void half_past_end(u32* out, const u32* in, u32) {
  if (kBug || threadIdx.x < 15) {
    // BUG(half_past_end): out_of_bounds@global
    const uint2 two = *reinterpret_cast<const uint2*>(in + 2 * threadIdx.x);
    out[threadIdx.x] = two.x + two.y;
  }
}
