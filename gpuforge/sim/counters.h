// What is counted, per instruction of the PTX ("site"); reports add them up by source line and by launch.
#pragma once

#include <cstdint>

namespace gpuforge::sim {

struct SiteCounters {
  std::uint64_t warp_instructions = 0;  // filled from the block counts after the launch
  std::uint64_t thread_instructions = 0;
  // Memory instructions.
  std::uint64_t requests = 0;  // warp-wide accesses with at least one lane
  std::uint64_t sectors = 0;   // distinct 32-byte sectors touched, global and local
  std::uint64_t least_sectors =
      0;  // global: different ones over the launch; on a line's first site for all of it
  std::uint64_t wavefronts = 0;        // shared: passes over the banks
  std::uint64_t ideal_wavefronts = 0;  // without bank conflicts
  std::uint64_t useful_bytes = 0;      // asked for by the lanes, the same byte twice counted once
  std::uint64_t requested_bytes = 0;   // lanes x width
  std::uint64_t atomic_conflicts = 0;  // lanes beyond the first at the same address of one atomic instruction
  // Branches.
  std::uint64_t divergent = 0;  // executions in which lanes went both ways
};

}  // namespace gpuforge::sim
