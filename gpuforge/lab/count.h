// What one call costs in the simulator: counts of what a GPU's memory would see, and no time.
#pragma once

#include <cstdint>
#include <memory>

#include "gpuforge/lab/workload.h"

namespace gpuforge::lab {

// Added up over the launches of one call.
struct Counts {
  std::uint64_t launches = 0;
  std::uint64_t thread_instructions = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t global_requests = 0;
  std::uint64_t global_sectors = 0;  // of 32 bytes
  std::uint64_t least_sectors = 0;   // those that must be moved
  std::uint64_t shared_wavefronts = 0;
  std::uint64_t ideal_wavefronts = 0;
  std::uint64_t divergent_branches = 0;
  double bytes_moved() const { return 32.0 * static_cast<double>(global_sectors); }
  double moved_over_least() const;  // 1 when nothing must be moved
  std::uint64_t bank_conflicts() const { return shared_wavefronts - ideal_wavefronts; }
};

// One call on set 0. Only for the device sim; a finding of the simulator is its Error.
Counts count(const Workload& work, const std::shared_ptr<Context>& context);

}  // namespace gpuforge::lab
