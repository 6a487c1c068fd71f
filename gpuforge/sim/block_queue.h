// The blocks of a launch, one after the other, or side by side when they wait for each other.
#pragma once

#include <cstdint>

#include "gpuforge/sim/launch.h"

namespace gpuforge::sim {

// `seed` orders blocks and warps; 0: as they are numbered. The first `first` blocks of that order have run.
void run_blocks(Launch& launch, std::uint64_t first, std::uint64_t blocks, std::uint64_t seed);

}  // namespace gpuforge::sim
