// A block's memory and warps, made once and used for block after block.
#pragma once

#include <memory>
#include <vector>

#include "gpuforge/sim/block.h"

namespace gpuforge::sim {

class BlockState {
 public:
  explicit BlockState(Launch& launch);
  Block& block() { return block_; }
  // Everything as a thread finds it at its start. `seed` orders the warps.
  void start(std::uint64_t linear_index, std::uint64_t seed);

 private:
  Block block_;
  AlignedBytes shared_;
  AlignedBytes local_;
  std::vector<std::uint64_t> shared_bits_;
  std::vector<std::uint64_t> local_bits_;
};

// How much memory one takes.
std::size_t block_state_bytes(const Launch& launch);
std::uint64_t mix(std::uint64_t value);  // a good scrambling of 64 bits

}  // namespace gpuforge::sim
