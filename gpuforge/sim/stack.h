// Binders of the stack instructions, for the table. Not installed.
#pragma once

#include "gpuforge/sim/opcode.h"

namespace gpuforge::sim {

Handlers bind_alloca(const Match& match);  // op.immediate: the alignment asked for, 0: none
Handlers bind_stack_save(const Match& match);
Handlers bind_stack_restore(const Match& match);

}  // namespace gpuforge::sim
