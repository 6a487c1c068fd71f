// Blocks that run together, their barrier, and each other's shared memory as they address it. Not installed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpuforge/sim/block.h"

namespace gpuforge::sim {

// Who has come to the cluster's barrier, by block and warp.
struct ClusterBarrier {
  struct OfBlock {
    std::vector<Mask> arrived;   // in the phase under way
    std::vector<Mask> released;  // in one that is over, and have not waited yet
  };
  std::vector<OfBlock> blocks;
  std::shared_ptr<const Knowledge> arriving, arrived;  // what they knew who came
};

struct Cluster {
  explicit Cluster(std::vector<Block*> all);

  std::vector<Block*> blocks;  // by rank
  std::vector<bool> over;      // blocks that have ended
  ClusterBarrier barrier;
};

// An address in the shared memory of any block of a cluster, in 32 bits: one above the block's rank, and the
// offset. Below that are the own block's, so that what points there does so here as well.
inline constexpr int kRankShift = 24;
struct ClusterPlace {
  std::uint32_t rank = 0;
  std::uint32_t offset = 0;
};
inline ClusterPlace cluster_place(const Block& block, std::uint32_t address) {
  const std::uint32_t above = address >> kRankShift;
  return {above == 0 ? block.rank : above - 1, address & ((1u << kRankShift) - 1)};
}
// nullptr: the cluster has no such block.
Block* block_of_rank(Block& block, std::uint32_t rank);
// Whether that block, of the same cluster, has ended.
bool has_ended(const Block& block, std::uint32_t rank);

// Threads of the block have exited: those who wait for the cluster may go on.
void complete_cluster_barrier(Block& block);

inline constexpr std::uint32_t kMostClusterBlocks = 16;
// All blocks of the launch, one cluster after another. `seed` as in block_queue.h.
void run_clusters(Launch& launch, std::uint64_t seed);

}  // namespace gpuforge::sim
