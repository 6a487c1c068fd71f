// What softmax_online computes, as plain loops in double.
#pragma once

#include "gpuforge/lab/op.h"

namespace gpuforge::ops {

// `axis` is one of x's, not negative; ignored for a scalar.
lab::Expected softmax_online_reference(const lab::HostTensor& x, std::size_t axis,
                                       const lab::EachRow& each_row);

}  // namespace gpuforge::ops
