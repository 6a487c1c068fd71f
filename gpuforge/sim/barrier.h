// The block's named barriers.
#pragma once

#include <string>

#include "gpuforge/sim/block.h"

namespace gpuforge::sim {

// After threads have exited: barriers without a count that waited for nobody else open.
void complete_barriers(Block& block);
// Why a barrier with a count waits for ever, when that is because threads have exited; else empty.
std::string lost_to_exits(const Block& block, int id);

}  // namespace gpuforge::sim
