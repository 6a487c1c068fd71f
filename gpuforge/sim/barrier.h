// The block's named barriers.
#pragma once

#include "gpuforge/sim/block.h"

namespace gpuforge::sim {

// After lanes of `warp` have exited: barriers that waited for nobody else open.
void complete_barriers(Block& block, Warp& warp);

}  // namespace gpuforge::sim
