// What softmax_online_backward computes, as plain loops in double.
#pragma once

#include "gpuforge/lab/op.h"

namespace gpuforge::ops {

// `axis` is one of y's, not negative; ignored for a scalar. Magnitudes: the difference and the sum cancel.
lab::Expected softmax_online_backward_reference(const lab::HostTensor& dy, const lab::HostTensor& y,
                                                std::size_t axis, const lab::EachRow& each_row);

}  // namespace gpuforge::ops
