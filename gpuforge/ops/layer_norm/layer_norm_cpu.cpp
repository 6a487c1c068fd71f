#include <cmath>
#include <optional>
#include <vector>

#include "gpuforge/ops/host_rows.h"
#include "gpuforge/ops/layer_norm/layer_norm_kernels.h"

namespace gpuforge::ops {
namespace {

std::optional<Array> copy_of(const Array* array) {
  return array == nullptr ? std::nullopt : std::optional(*array);
}

}  // namespace

void layer_norm_cpu(const NormArrays& arrays, const Rows& rows, float eps, device::Stream& stream) {
  stream.enqueue([x = arrays.x, out = arrays.out, residual = copy_of(arrays.residual),
                  residual_out = copy_of(arrays.residual_out), weight = copy_of(arrays.weight),
                  bias = copy_of(arrays.bias), rows, eps] {
    std::vector<float> factors(static_cast<std::size_t>(rows.length), 1.0F);
    if (weight) load_row(factors, rows, host_rows(*weight, kNormWeight), 0);
    std::vector<float> shifts(static_cast<std::size_t>(rows.length), 0.0F);
    if (bias) load_row(shifts, rows, host_rows(*bias, kNormBias), 0);
    for_rows(rows, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> row(static_cast<std::size_t>(rows.length));
      std::vector<float> added(residual ? row.size() : 0);
      for (std::int64_t r = begin; r < end; ++r) {
        load_row(row, rows, host_rows(x, kNormX), r);
        if (residual) {
          load_row(added, rows, host_rows(*residual, kNormResidual), r);
          for (std::size_t i = 0; i < row.size(); ++i) row[i] += added[i];
          store_row(rows, host_rows(*residual_out, kNormResidualOut), r, row);
          round_to(row, x.dtype());
        }
        const auto count = static_cast<float>(rows.length);
        const float mean = sum_in_lanes(row.size(), [&](std::size_t i) { return row[i]; }) / count;
        for (float& value : row) value -= mean;
        const float squares = sum_in_lanes(row.size(), [&](std::size_t i) { return row[i] * row[i]; });
        const float scale = 1 / std::sqrt(squares / count + eps);
        for (std::size_t i = 0; i < row.size(); ++i) row[i] = row[i] * scale * factors[i] + shifts[i];
        store_row(rows, host_rows(out, kNormOut), r, row);
      }
    });
  });
}

}  // namespace gpuforge::ops
