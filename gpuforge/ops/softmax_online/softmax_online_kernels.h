// The parts of softmax_online that need no data: the problem, the choice, the kernel. Not installed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gpuforge/ops/row_config.h"

namespace gpuforge::ops {

// Of x and out. A scalar counts as a row of one.
Rows softmax_rows(const Shape& shape, const Strides& x, const Strides& out, std::int64_t dim);
// `variant` decides what may be held; invalid_argument when there is none of that name. Addresses 0: those of
// arrays of their own.
RowProblem softmax_problem(const Rows& rows, DType dtype, std::string_view variant, device::Address x,
                           device::Address out);
jit::KernelId softmax_kernel_id(std::string_view variant, DType dtype, const RowConfig& config);
std::shared_ptr<const jit::Kernel> softmax_kernel(Context& context, std::string_view variant, DType dtype,
                                                  const RowConfig& config);

void softmax_online_cpu(const Array& out, const Array& x, const Rows& rows, device::Stream& stream);

}  // namespace gpuforge::ops
