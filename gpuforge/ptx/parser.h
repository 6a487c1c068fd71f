// Text to tree. Grammar only: whether the words make sense together is the verifier's question.
#pragma once

#include <string>
#include <string_view>

#include "gpuforge/ptx/tree.h"

namespace gpuforge::ptx {

// `name` is shown in messages. What is not PTX: parse Error "name:line:column: ...". Depth and counts are
// bounded, so hostile text costs memory in proportion to its size.
Module parse(std::string text, std::string_view name);

}  // namespace gpuforge::ptx
