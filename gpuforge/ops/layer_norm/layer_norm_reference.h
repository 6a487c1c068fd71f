// What layer_norm computes, as plain loops in double.
#pragma once

#include <vector>

#include "gpuforge/lab/op.h"

namespace gpuforge::ops {

// `weight`, `bias` and `residual` may be nullptr. The normalised rows, and with a residual the rounded sums.
// Magnitudes: x - mean cancels, and so may the bias.
std::vector<lab::Expected> layer_norm_reference(const lab::HostTensor& x, const lab::HostTensor* weight,
                                                const lab::HostTensor* bias, const lab::HostTensor* residual,
                                                double eps, DType dtype, const lab::EachRow& each_row);

}  // namespace gpuforge::ops
