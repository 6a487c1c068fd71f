// Between the instructions of mbarriers and what arrives by itself. Not installed.
#pragma once

#include "gpuforge/sim/block.h"

namespace gpuforge::sim {

// After each change of what the mbarrier at `offset` waits for: ends its phase when there is nothing left,
// and lets those go on who wait.
void settle(Block& block, std::uint32_t offset, MBarrier& barrier);
// Where it is in that block's shared memory; nullptr after a finding of `lane` of `warp`, in whose cluster
// the block is: there is none, or something else was written over it.
MBarrier* find_mbarrier(Warp& warp, const Op* op, int lane, Block& block, std::uint32_t offset);

}  // namespace gpuforge::sim
