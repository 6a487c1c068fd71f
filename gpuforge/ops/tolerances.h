// How far a kernel may be from the reference: one table for all ops.
#pragma once

#include <string_view>

#include "gpuforge/lab/op.h"

namespace gpuforge::ops {

// For an output of that dtype of the op. Computed in float: what is left is the rounding of the output and
// what the op's own arithmetic adds.
lab::Tolerance tolerance(std::string_view op, DType dtype);

}  // namespace gpuforge::ops
