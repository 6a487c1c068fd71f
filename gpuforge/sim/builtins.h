// Functions that PTX calls and nobody defines: printf and assert.
#pragma once

#include "gpuforge/sim/block.h"

namespace gpuforge::sim {

// False when the launch ends with it.
bool call_builtin(Warp& warp, const Op* op, const Call& call);

}  // namespace gpuforge::sim
