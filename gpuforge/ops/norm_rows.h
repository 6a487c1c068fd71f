// What rms_norm and layer_norm have alike on the host: their arrays, checks and rows. Not installed.
#pragma once

#include <optional>
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
// The same order as in residual.cuh.
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
RowProblem norm_problem(std::string_view op, const Shape& shape, DType dtype, std::string_view variant);

inline device::Address address_of(const Array* array) {
  return array == nullptr ? 0 : array->address();
}
void record_uses(const NormArrays& arrays, device::Stream& stream);

}  // namespace gpuforge::ops
