// Instructions of a whole warp, and masks that do not fit who runs them.
using u32 = unsigned;
constexpr u32 kAll = 0xffffffffu;

// The lower half names the upper half.
template <bool kBug>
__global__ void syncwarp_mask(u32* out, const u32* in, u32) {
  __shared__ u32 words[32];
  if (threadIdx.x < 16) {
    words[threadIdx.x] = in[threadIdx.x];
    __syncwarp(kBug ? 0xffff0000u : 0x0000ffffu);  // BUG(syncwarp_mask): warp_sync
    out[threadIdx.x] = words[threadIdx.x];
  }
}

// Half of the warp waits for all of it, the other half waits elsewhere.
template <bool kBug>
__global__ void syncwarp_in_branch(u32* out, const u32* in, u32) {
  u32 value = in[threadIdx.x];
  if (value <= 16) {
    __syncwarp(kBug ? kAll : 0x0000ffffu);  // BUG(syncwarp_in_branch): warp_sync
    value += 100;
  }
  out[threadIdx.x] = __shfl_sync(kAll, value, 31 - threadIdx.x);  // BUG(syncwarp_in_branch): warp_sync?
}

// All lanes shuffle, the mask names the lower half.
template <bool kBug>
__global__ void shuffle_outside_mask(u32* out, const u32* in, u32) {
  // BUG(shuffle_outside_mask): warp_sync
  out[threadIdx.x] = __shfl_xor_sync(kBug ? 0x0000ffffu : kAll, in[threadIdx.x], 1);
}

// The lower half reads a lane of the upper half, which is not there.
template <bool kBug>
__global__ void shuffle_inactive(u32* out, const u32* in, u32) {
  if (threadIdx.x < 16)
    // BUG(shuffle_inactive): uninitialized@global
    out[threadIdx.x] = __shfl_sync(0x0000ffffu, in[threadIdx.x], kBug ? 20 : 4);
}

// Two halves at one instruction with masks that overlap.
template <bool kBug>
__global__ void two_masks(u32* out, const u32* in, u32) {
  const u32 own = threadIdx.x < 16 ? 0x0000ffffu : kBug ? kAll : 0xffff0000u;
  out[threadIdx.x] = __shfl_xor_sync(own, in[threadIdx.x], 1);  // BUG(two_masks): warp_sync
  __syncwarp();                                                 // BUG(two_masks): warp_sync?
}

// The same, and the lower half ends after it.
template <bool kBug>
__global__ void two_masks_and_exit(u32* out, const u32* in, u32) {
  const u32 own = threadIdx.x < 16 ? 0x0000ffffu : kBug ? kAll : 0xffff0000u;
  out[threadIdx.x] = __shfl_xor_sync(own, in[threadIdx.x], 1);  // BUG(two_masks_and_exit): warp_sync
}

template <bool kBug>
__global__ void ballot_mask(u32* out, const u32* in, u32) {
  if (threadIdx.x < 4)
    // BUG(ballot_mask): warp_sync
    out[threadIdx.x] = __ballot_sync(kBug ? 0xf0u : 0x0fu, in[threadIdx.x] > 2);
}

template <bool kBug>
__global__ void redux_mask(u32* out, const u32* in, u32) {
  if (threadIdx.x < 8)
    // BUG(redux_mask): warp_sync
    out[threadIdx.x] = __reduce_add_sync(kBug ? 0x0fu : 0xffu, in[threadIdx.x]);
}

template <bool kBug>
__global__ void match_mask(u32* out, const u32* in, u32) {
  if (threadIdx.x < 8)
    // BUG(match_mask): warp_sync
    out[threadIdx.x] = __match_any_sync(kBug ? 0xff00u : 0xffu, in[threadIdx.x] / 4);
}
