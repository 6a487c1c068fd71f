// What reduce_sum computes, as a plain loop in double.
#pragma once

#include "gpuforge/lab/op.h"

namespace gpuforge::ops {

// Judged by the sum of |x|.
lab::Expected reduce_sum_reference(const lab::HostTensor& x, std::size_t axis, const lab::EachRow& each_row);

}  // namespace gpuforge::ops
