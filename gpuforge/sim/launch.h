// What all blocks of one launch share, as handlers and checkers see it. One per host thread that runs blocks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/sim/counters.h"
#include "gpuforge/sim/finding_log.h"
#include "gpuforge/sim/memory.h"
#include "gpuforge/sim/op.h"
#include "gpuforge/sim/sector_maps.h"
#include "gpuforge/sim/warp.h"

namespace gpuforge::sim {

struct Program;
struct Image;
class RaceDetector;
class ThreadMemory;

inline std::uint32_t blocks_of(const Index3& cluster) {
  return cluster.x * cluster.y * cluster.z;
}

struct Checks {
  bool races = true;
  bool initialized = true;
  bool counters = true;
};

struct Launch {
  const Program* program = nullptr;
  const Image* image = nullptr;  // image->codes[0] is the kernel
  Index3 grid{1, 1, 1};
  Index3 block{1, 1, 1};
  Index3 cluster{1, 1, 1};  // blocks of one
  std::uint32_t threads_per_block = 0;
  std::uint32_t shared_bytes = 0;  // static and dynamic: what a block may touch
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint64_t grid_workspace = 0;   // of a cooperative launch: its address
  std::uint32_t multiprocessors = 1;  // what %nsmid says
  std::vector<std::byte> params;      // the kernel's parameters
  Checks checks;
  std::shared_ptr<const Allocations> allocations;
  Allocation* last_allocation = nullptr;  // hint of the last look-up; may be anything in `allocations`
  ThreadMemory* own = nullptr;            // global memory through it; nullptr: directly, and nothing is noted
  const Memory* memory = nullptr;         // asked for what was freed when an access misses; may be nullptr
  RaceDetector* races = nullptr;          // nullptr when off
  std::vector<SiteCounters> counters;     // by op.site
  SectorNotes sectors;                    // with counters alone
  FindingLog findings;
  std::function<void(std::string_view)> print;  // printf
  bool failed = false;                          // a finding that ends the launch was made
  std::vector<BlockCount> block_counts;         // by basic block
  std::uint64_t steps_left = 0;                 // instructions of warps
  std::uint64_t schedule_seed = 0;              // 0: the first order
  unsigned host_threads = 1;                    // whose blocks count
  const std::atomic<bool>* cancel = nullptr;
  bool cancelled = false;
};

}  // namespace gpuforge::sim
