// How far a kernel may be from the reference: one table for all ops.
#pragma once

#include <string_view>

#include "gpuforge/lab/op.h"

namespace gpuforge::ops {

// For an output of that dtype of the op. Computed in float: what is left is the rounding of the output and
// what the op's own arithmetic adds.
lab::Tolerance tolerance(std::string_view op, DType dtype);
// Where the table's row is for one rounding in float, and an element goes through `roundings` of them.
lab::Tolerance tolerance(std::string_view op, DType dtype, double roundings);
// Of a function of the elementwise table whose result has that dtype.
lab::Tolerance elementwise_tolerance(std::string_view function, DType dtype);
// The most float additions that a term of a sum of `length` goes through in the ops' kernels: 128 at most one
// after the other, then those of the pieces of 128, then a tree over threads and blocks.
double sum_roundings(std::int64_t length);

}  // namespace gpuforge::ops
