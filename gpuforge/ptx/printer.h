// Tree to text. Parsing what is printed gives the same tree, positions aside.
#pragma once

#include <string>

#include "gpuforge/ptx/tree.h"

namespace gpuforge::ptx {

std::string print(const Module& module);
std::string print(const Instruction& instruction);

}  // namespace gpuforge::ptx
