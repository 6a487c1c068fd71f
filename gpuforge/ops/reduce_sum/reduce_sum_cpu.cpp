#include "gpuforge/ops/reduce_sum/reduce_sum_kernels.h"

namespace gpuforge::ops {

void reduce_sum_cpu(const Array& out, const Array& x, const Rows& rows, device::Stream& stream) {
  reduce_cpu(out, x, rows, ReduceOp::sum, stream);
}

}  // namespace gpuforge::ops
