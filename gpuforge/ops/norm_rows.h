// What rms_norm and layer_norm have alike on the host: their arrays, checks, rows, kernels' names, and the
// way over rows on the cpu. Not installed.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "gpuforge/ops/rms_norm/rms_norm.h"
#include "gpuforge/ops/row_config.h"

namespace gpuforge::ops {

struct NormArrays {
  const Array& x;
  const Array& out;
  const Array* residual = nullptr;
  const Array* residual_out = nullptr;
  const Array* weight = nullptr;
  const Array* bias = nullptr;
};
// The same order as in kernels/norm_rows.cuh.
inline constexpr std::size_t kNormX = 0, kNormOut = 1, kNormResidual = 2, kNormResidualOut = 3,
                             kNormWeight = 4, kNormBias = 5, kNormArrays = 6;

// invalid_argument as the contracts of the ops say.
void check_norm(std::string_view op, const NormArrays& arrays, float eps);
// Along the last axis; what is absent has the strides of what it would be.
Rows norm_rows(const NormArrays& arrays);
// invalid_argument when the variant is neither best nor naive.
RowProblem norm_problem(std::string_view op, const Rows& rows, const NormArrays& arrays,
                        std::string_view variant);
// The same for arrays of their own that do not exist.
RowProblem norm_problem(std::string_view op, const Shape& shape, DType dtype, bool residual,
                        std::string_view variant);

// Everything that is decided before a launch, after check_norm.
struct NormPlan {
  Rows rows;
  RowProblem problem;
  RowConfig config;
};
NormPlan plan_norm(std::string_view op, const NormArrays& arrays, float eps, std::string_view variant,
                   const Config* config);
// Which of the arrays that it need not have a norm has: a kernel is compiled for them.
struct NormHas {
  bool residual = false;
  bool weight = false;
  bool bias = false;
};
NormHas norm_has(const NormArrays& arrays);
// `op` of ops/<op>/<op>.cu, or `op`_naive.
jit::KernelId norm_kernel_id(std::string_view op, std::string_view variant, DType dtype,
                             const RowConfig& config, NormHas has);
std::shared_ptr<const jit::Kernel> norm_kernel(Context& context, std::string_view op,
                                               std::string_view variant, DType dtype, const RowConfig& config,
                                               NormHas has);

// On the cpu: makes each row of x, with its residual, what out is before weight and bias.
using NormaliseRow = std::function<void(std::span<float> row)>;
void norm_cpu(const NormArrays& arrays, const Rows& rows, device::Stream& stream, NormaliseRow normalise);

inline device::Address address_of(const Array* array) {
  return array == nullptr ? 0 : array->address();
}
// To be kept until the work is queued (Array::record_use).
std::array<memory::Hold, kNormArrays> record_uses(const NormArrays& arrays, device::Stream& stream);

}  // namespace gpuforge::ops
