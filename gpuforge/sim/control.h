// Handlers of instructions that steer: branches, calls, ends; made by the decoder, not found in the table.
#pragma once

#include "gpuforge/sim/code.h"
#include "gpuforge/sim/op.h"

namespace gpuforge::sim {

Handlers branch_handlers();  // op.guard, op.target: relative
Handlers table_handlers();   // operand 0: index; op.target: which table of the Code
Handlers call_handlers();    // op.target: which Call of the Code
Handlers return_handlers();
Handlers exit_handlers();
Handlers
enter_handlers();  // the first op of every block; op.target: its count, op.immediate: its instructions
Handlers negate_handlers();   // operand 0 = not operand 1, masks
Handlers refresh_handlers();  // operand 0: a row of a special register that changes; op.target: which
// What runs a guarded op, and an op in mode tracked.
const Op* run_guarded(Warp& warp, const Op* op);
const Op* run_guarded_masked(Warp& warp, const Op* op);
const Op* run_tracked(Warp& warp, const Op* op);

}  // namespace gpuforge::sim
