// What the rows of bit counts and bit fields in logic.cpp are bound by.
#pragma once

#include "gpuforge/sim/opcode.h"

namespace gpuforge::sim {

Handlers bind_popc(const Match& match);
Handlers bind_clz(const Match& match);
Handlers bind_bfind(const Match& match);
Handlers bind_brev(const Match& match);
Handlers bind_bfe(const Match& match);
Handlers bind_bfi(const Match& match);
Handlers bind_bmsk(const Match& match);
Handlers bind_szext(const Match& match);
Handlers bind_fns(const Match& match);

}  // namespace gpuforge::sim
