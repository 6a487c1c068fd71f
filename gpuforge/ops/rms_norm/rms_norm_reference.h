// What rms_norm computes, as plain loops in double.
#pragma once

#include <vector>

#include "gpuforge/lab/op.h"

namespace gpuforge::ops {

// `weight` and `residual` may be nullptr. The normalised rows, and with a residual the rounded sums.
std::vector<lab::Expected> rms_norm_reference(const lab::HostTensor& x, const lab::HostTensor* weight,
                                              const lab::HostTensor* residual, double eps, DType dtype,
                                              const lab::EachRow& each_row);

// x + residual as it is stored: added in float, rounded to the dtype. x itself without a residual.
std::vector<double> residual_sums(const lab::HostTensor& x, const lab::HostTensor* residual, DType dtype,
                                  const lab::EachRow& each_row);

}  // namespace gpuforge::ops
