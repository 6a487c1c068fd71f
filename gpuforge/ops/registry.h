// Room ops: one folder per op, and this list of them. An op's folder has its kernels (.cu), its contract
// (.h), the checks, the choice of a configuration and the launch (.cpp), the host's implementation
// (_cpu.cpp), the plain loop in double that says what is right (_reference.cpp), what the lab needs to know
// (_op.cpp), and its tests. Not here: how kernels are compared and timed (lab/).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "gpuforge/lab/op.h"

namespace gpuforge::ops {

std::vector<lab::Op> all_ops();
// Also a function of the elementwise table by its name. invalid_argument with those there are when there is
// none of that name.
lab::Op find_op(std::string_view name);

}  // namespace gpuforge::ops
