// The parts of softmax_online_backward that need no data: the problem, the kernel. Not installed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gpuforge/ops/row_config.h"

namespace gpuforge::ops {

// Of y, dy and dx, in this order. A scalar counts as a row of one.
Rows softmax_backward_rows(const Shape& shape, const Strides& y, const Strides& dy, const Strides& dx,
                           std::int64_t dim);
// invalid_argument when there is no variant of that name. Addresses 0: those of arrays of their own.
RowProblem softmax_backward_problem(const Rows& rows, DType dtype, std::string_view variant,
                                    device::Address y, device::Address dy, device::Address dx);
jit::KernelId softmax_backward_kernel_id(std::string_view variant, DType dtype, const RowConfig& config);
std::shared_ptr<const jit::Kernel> softmax_backward_kernel(Context& context, std::string_view variant,
                                                           DType dtype, const RowConfig& config);

void softmax_online_backward_cpu(const Array& dx, const Array& dy, const Array& y, const Rows& rows,
                                 device::Stream& stream);

}  // namespace gpuforge::ops
