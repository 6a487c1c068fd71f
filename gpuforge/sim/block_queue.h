// The blocks of a launch: one after the other, side by side when they wait for each other, or on several host
// threads when that cannot be seen.
#pragma once

#include <cstdint>

#include "gpuforge/sim/launch.h"

namespace gpuforge::sim {

// `seed` orders blocks and warps; 0: as they are numbered.
void run_blocks(Launch& launch, std::uint64_t blocks, std::uint64_t seed);

// Whether blocks on several threads give what blocks in order give: nothing that returns what another block
// did, no checker that compares blocks, no output in order.
bool may_run_in_parallel(const Launch& launch);
void run_blocks_in_parallel(Launch& launch, std::uint64_t blocks, unsigned threads);

}  // namespace gpuforge::sim
