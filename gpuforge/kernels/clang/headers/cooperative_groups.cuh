// What clang gets for <cooperative_groups.h>: blocks, tiles of a warp and coalesced groups. Not here: grids
// and clusters that wait, copies, labelled partitions.
#ifndef GPUFORGE_COOPERATIVE_GROUPS  // two names reach this file, which are two files to clang
#define GPUFORGE_COOPERATIVE_GROUPS

namespace cooperative_groups {
namespace gpuforge_groups {

#define GPUFORGE_GROUP __attribute__((device, always_inline, nodebug)) inline

GPUFORGE_GROUP unsigned rank_in_block() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
GPUFORGE_GROUP unsigned threads_of_block() {
  return blockDim.x * blockDim.y * blockDim.z;
}
GPUFORGE_GROUP unsigned lane() {
  unsigned id;
  asm("mov.u32 %0, %%laneid;" : "=r"(id));
  return id;
}

// The lanes of `mask` as a group; ranks go by lane.
class Lanes {
 public:
  GPUFORGE_GROUP explicit Lanes(unsigned mask) : mask_(mask) {}
  GPUFORGE_GROUP void sync() const { __syncwarp(mask_); }
  GPUFORGE_GROUP unsigned thread_rank() const { return __popc(mask_ & __lanemask_lt()); }
  GPUFORGE_GROUP unsigned num_threads() const { return __popc(mask_); }
  GPUFORGE_GROUP unsigned size() const { return num_threads(); }
  GPUFORGE_GROUP int any(int predicate) const { return __any_sync(mask_, predicate); }
  GPUFORGE_GROUP int all(int predicate) const { return __all_sync(mask_, predicate); }
  GPUFORGE_GROUP unsigned gpuforge_mask() const { return mask_; }

 protected:
  unsigned mask_;
};

}  // namespace gpuforge_groups

class thread_block {
 public:
  GPUFORGE_GROUP static void sync() { __syncthreads(); }
  GPUFORGE_GROUP static unsigned thread_rank() { return gpuforge_groups::rank_in_block(); }
  GPUFORGE_GROUP static unsigned num_threads() { return gpuforge_groups::threads_of_block(); }
  GPUFORGE_GROUP static unsigned size() { return num_threads(); }
  GPUFORGE_GROUP static dim3 group_index() { return blockIdx; }
  GPUFORGE_GROUP static dim3 thread_index() { return threadIdx; }
  GPUFORGE_GROUP static dim3 group_dim() { return blockDim; }
  GPUFORGE_GROUP static dim3 dim_threads() { return blockDim; }
};
GPUFORGE_GROUP thread_block this_thread_block() {
  return {};
}

// The threads of the grid; they do not wait for each other here.
class grid_group {
 public:
  GPUFORGE_GROUP static unsigned long long block_rank() {
    return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  GPUFORGE_GROUP static unsigned long long num_blocks() {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  GPUFORGE_GROUP static unsigned long long thread_rank() {
    return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
  }
  GPUFORGE_GROUP static unsigned long long num_threads() {
    return num_blocks() * thread_block::num_threads();
  }
  GPUFORGE_GROUP static unsigned long long size() { return num_threads(); }
  __attribute__((device,
                 unavailable("the clang front end has no barrier of a grid: compile with NVRTC"))) void
  sync() const;
};
GPUFORGE_GROUP grid_group this_grid() {
  return {};
}

// Lanes that are together here. A rank is a place among the set bits of the mask.
class coalesced_group : public gpuforge_groups::Lanes {
 public:
  using Lanes::Lanes;
  template <typename T>
  GPUFORGE_GROUP T shfl(T value, unsigned rank) const {
    return __shfl_sync(mask_, value, static_cast<int>(lane_of(rank)));
  }
  template <typename T>
  GPUFORGE_GROUP T shfl_up(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return __shfl_sync(mask_, value, static_cast<int>(lane_of(rank >= delta ? rank - delta : rank)));
  }
  template <typename T>
  GPUFORGE_GROUP T shfl_down(T value, unsigned delta) const {
    const unsigned rank = thread_rank() + delta;
    return __shfl_sync(mask_, value, static_cast<int>(lane_of(rank < size() ? rank : rank - delta)));
  }
  GPUFORGE_GROUP unsigned ballot(int predicate) const { return packed(__ballot_sync(mask_, predicate)); }
  template <typename T>
  GPUFORGE_GROUP unsigned match_any(T value) const {
    return packed(__match_any_sync(mask_, value));
  }
  GPUFORGE_GROUP unsigned meta_group_size() const { return 1; }
  GPUFORGE_GROUP unsigned meta_group_rank() const { return 0; }

 private:
  GPUFORGE_GROUP unsigned lane_of(unsigned rank) const { return __fns(mask_, 0, static_cast<int>(rank) + 1); }
  // Lanes as ranks.
  GPUFORGE_GROUP unsigned packed(unsigned lanes) const {
    unsigned result = 0;
    for (unsigned rank = 0, left = mask_; left != 0; ++rank, left &= left - 1)
      result |= ((lanes >> (__ffs(static_cast<int>(left)) - 1)) & 1) << rank;
    return result;
  }
};
GPUFORGE_GROUP coalesced_group coalesced_threads() {
  return coalesced_group(__activemask());
}

// kSize lanes that follow each other, kSize a power of two up to 32.
template <unsigned kSize, typename Parent = void>
class thread_block_tile : public gpuforge_groups::Lanes {
  static_assert(kSize >= 1 && kSize <= 32 && (kSize & (kSize - 1)) == 0,
                "the clang front end has tiles of 1, 2, 4, 8, 16 and 32 threads: compile with NVRTC");

 public:
  GPUFORGE_GROUP thread_block_tile()
      : Lanes((0xffffffffu >> (32 - kSize)) << (gpuforge_groups::lane() & ~(kSize - 1))) {}
  GPUFORGE_GROUP static unsigned thread_rank() { return gpuforge_groups::lane() & (kSize - 1); }
  GPUFORGE_GROUP static constexpr unsigned num_threads() { return kSize; }
  GPUFORGE_GROUP static constexpr unsigned size() { return kSize; }
  GPUFORGE_GROUP static unsigned meta_group_rank() { return gpuforge_groups::rank_in_block() / kSize; }
  GPUFORGE_GROUP static unsigned meta_group_size() {
    return (gpuforge_groups::threads_of_block() + kSize - 1) / kSize;
  }
  template <typename T>
  GPUFORGE_GROUP T shfl(T value, int rank) const {
    return __shfl_sync(mask_, value, rank, kSize);
  }
  template <typename T>
  GPUFORGE_GROUP T shfl_up(T value, unsigned delta) const {
    return __shfl_up_sync(mask_, value, delta, kSize);
  }
  template <typename T>
  GPUFORGE_GROUP T shfl_down(T value, unsigned delta) const {
    return __shfl_down_sync(mask_, value, delta, kSize);
  }
  template <typename T>
  GPUFORGE_GROUP T shfl_xor(T value, unsigned bits) const {
    return __shfl_xor_sync(mask_, value, static_cast<int>(bits), kSize);
  }
  GPUFORGE_GROUP unsigned ballot(int predicate) const {
    return __ballot_sync(mask_, predicate) >> (gpuforge_groups::lane() & ~(kSize - 1));
  }
  template <typename T>
  GPUFORGE_GROUP unsigned match_any(T value) const {
    return __match_any_sync(mask_, value) >> (gpuforge_groups::lane() & ~(kSize - 1));
  }
};
template <unsigned kSize>
GPUFORGE_GROUP thread_block_tile<kSize, thread_block> tiled_partition(const thread_block&) {
  return {};
}
// Of a tile: its parts count within it.
template <unsigned kSize, unsigned kWhole, typename Parent>
class gpuforge_part : public thread_block_tile<kSize, Parent> {
 public:
  GPUFORGE_GROUP static unsigned meta_group_rank() {
    return (gpuforge_groups::lane() & (kWhole - 1)) / kSize;
  }
  GPUFORGE_GROUP static constexpr unsigned meta_group_size() { return kWhole / kSize; }
};
template <unsigned kSize, unsigned kWhole, typename Parent>
GPUFORGE_GROUP gpuforge_part<kSize, kWhole, Parent> tiled_partition(
    const thread_block_tile<kWhole, Parent>&) {
  static_assert(kSize <= kWhole);
  return {};
}

template <typename Group>
GPUFORGE_GROUP void sync(const Group& group) {
  group.sync();
}
#undef GPUFORGE_GROUP

}  // namespace cooperative_groups

#endif
