// The .approx instructions of f32: all within 1 ulp of the true value, most of them correctly rounded, so
// well inside the manual's bounds; not the bits the hardware's tables give.
#pragma once

#include "gpuforge/sim/opcode.h"

namespace gpuforge::sim {

Handlers bind_div_approx(const Match& match);
Handlers bind_rsqrt_approx(const Match& match);
Handlers bind_sin_approx(const Match& match);
Handlers bind_cos_approx(const Match& match);
Handlers bind_lg2_approx(const Match& match);
Handlers bind_ex2_approx(const Match& match);
Handlers bind_tanh_approx(const Match& match);

}  // namespace gpuforge::sim
