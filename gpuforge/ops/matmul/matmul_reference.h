#pragma once

#include "gpuforge/lab/op.h"

namespace gpuforge::ops {

// [.., m, k] by [k, n] in double, or modulo 2^64 and wrapped for integers. An error is judged against the sum
// of the products' sizes.
lab::Expected matmul_reference(const lab::HostTensor& a, const lab::HostTensor& b, DType dtype,
                               const lab::EachRow& each_row);

}  // namespace gpuforge::ops
