// What reduce computes, as a plain loop in double.
#pragma once

#include "gpuforge/lab/op.h"
#include "gpuforge/ops/reduce/reduce.h"

namespace gpuforge::ops {

// Sums and means are judged by the sum and the mean of |x|. A product does not overflow on the way.
lab::Expected reduce_reference(const lab::HostTensor& x, std::size_t axis, ReduceOp op,
                               const lab::EachRow& each_row);

}  // namespace gpuforge::ops
