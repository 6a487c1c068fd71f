// Blocks on several host threads, where nobody can tell them from blocks that ran in order: each thread
// writes to memory of its own (thread_memory.h), and what the threads did counts only if none of them touched
// what another wrote, nothing failed, and no limit was reached.
#pragma once

#include <cstdint>

#include "gpuforge/sim/launch.h"

namespace gpuforge::sim {

// Whether that can be worth a try: nothing that returns what another block did, no output in order, and no
// fences for the race detector, which then has to see all blocks.
bool may_run_in_parallel(const Launch& launch);
// Gives how many blocks have run, from the first on; the rest is for run_blocks.
std::uint64_t run_blocks_in_parallel(Launch& launch, std::uint64_t blocks, unsigned threads);

}  // namespace gpuforge::sim
