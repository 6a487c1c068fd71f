// The basic blocks of a listing: who follows whom, in which order they are laid out, which registers live
// where.
#pragma once

#include <cstdint>
#include <vector>

#include "gpuforge/sim/listing.h"

namespace gpuforge::sim {

struct FlowBlock {
  std::uint32_t first = 0;  // lines [first, last)
  std::uint32_t last = 0;
  std::vector<std::uint32_t> successors;  // the block it falls into comes first, when it does
  bool falls_through = false;
};

struct FlowGraph {
  std::vector<FlowBlock> blocks;
  std::vector<std::uint32_t> block_of_line;
  // Reachable blocks, each after what leads to it except through back edges, and a loop's blocks before what
  // follows the loop: the warp scheduler runs the earliest fragment first, so lanes meet where the loop ends.
  std::vector<std::uint32_t> order;
};
FlowGraph make_flow_graph(const Listing& listing);

// Where each register's value is needed, as positions in the laid-out function: two per line.
struct LiveRange {
  std::uint32_t begin = 0xffffffffu;
  std::uint32_t end = 0;
  bool used() const { return begin <= end; }
};
struct Liveness {
  std::vector<LiveRange> ranges;              // by register
  std::vector<std::uint32_t> read_unwritten;  // registers that may be read before any write
};
Liveness find_live_ranges(const Listing& listing, const FlowGraph& graph);

}  // namespace gpuforge::sim
