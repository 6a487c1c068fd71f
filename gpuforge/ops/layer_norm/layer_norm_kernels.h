// The parts of layer_norm that need no data, and its host side. Not installed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gpuforge/ops/norm_rows.h"

namespace gpuforge::ops {

std::string layer_norm_expression(std::string_view variant, DType dtype, const RowConfig& config);
std::shared_ptr<const jit::Kernel> layer_norm_kernel(Context& context, std::string_view variant, DType dtype,
                                                     const RowConfig& config);

void layer_norm_cpu(const NormArrays& arrays, const Rows& rows, float eps, device::Stream& stream);

}  // namespace gpuforge::ops
