// What the functions of the table should give, in double. Not installed.
#pragma once

#include "gpuforge/lab/op.h"
#include "gpuforge/ops/elementwise/elementwise.h"

namespace gpuforge::ops {

// Of operands that were converted to how.operation; what it gives before it is rounded to a float. Integers
// and bools are what the result holds.
double reference_value(const Resolution& how, std::span<const double> operands);

// Inputs broadcast to `shape`.
lab::Expected elementwise_reference(const Resolution& how, const Shape& shape,
                                    std::span<const lab::HostTensor> inputs, const lab::EachRow& each_row);

}  // namespace gpuforge::ops
