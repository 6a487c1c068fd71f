// The parts of rms_norm_backward that need no data, and its host side. Not installed.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "gpuforge/ops/row_config.h"

namespace gpuforge::ops {

// The order of the arrays in rows, as in rms_norm_backward.cu.
inline constexpr std::size_t kRmsX = 0, kRmsDy = 1, kRmsDx = 2, kRmsWeight = 3, kRmsArrays = 4;

struct RmsBackwardArrays {
  const Array& dx;
  const Array* dweight = nullptr;
  const Array& dy;
  const Array& x;
  const Array* weight = nullptr;
};

// invalid_argument when there is no variant of that name. `addresses`: of x, dy, dx, weight; 0 for arrays of
// their own.
RowProblem rms_backward_problem(const Rows& rows, DType dtype, std::string_view variant, bool weight,
                                std::span<const device::Address, kRmsArrays> addresses);
// For contiguous arrays of their own.
Rows rms_backward_rows(const Shape& shape);

// dweight is summed in so many pieces of so many rows.
struct RowPieces {
  std::int64_t count = 1;
  std::int64_t rows = 0;
};
RowPieces rms_backward_pieces(std::int64_t rows, std::string_view variant);  // pure

// For dx; and with a weight, for the pieces of dweight and their sum.
struct RmsBackwardIds {
  jit::KernelId rows, partials, weight;
};
RmsBackwardIds rms_backward_kernel_ids(std::string_view variant, DType dtype, const RowConfig& config,
                                       bool weight);
// What is launched one after the other: one for dx, and with a weight two for dweight.
std::vector<std::shared_ptr<const jit::Kernel>> rms_backward_kernels(Context& context,
                                                                     std::string_view variant, DType dtype,
                                                                     const RowConfig& config, bool weight);

void rms_norm_backward_cpu(const RmsBackwardArrays& arrays, const Rows& rows, float eps,
                           device::Stream& stream);

}  // namespace gpuforge::ops
