// What rms_norm_backward computes, as plain loops in double.
#pragma once

#include <vector>

#include "gpuforge/lab/op.h"

namespace gpuforge::ops {

// dx, and with a weight (nullptr: ones) dweight. Magnitudes: both are sums that cancel.
std::vector<lab::Expected> rms_norm_backward_reference(const lab::HostTensor& dy, const lab::HostTensor& x,
                                                       const lab::HostTensor* weight, double eps,
                                                       const lab::EachRow& each_row);

}  // namespace gpuforge::ops
