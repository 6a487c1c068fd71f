#include <cmath>

#include "gpuforge/ops/host_rows.h"
#include "gpuforge/ops/rms_norm/rms_norm_kernels.h"

namespace gpuforge::ops {

void rms_norm_cpu(const NormArrays& arrays, const Rows& rows, float eps, device::Stream& stream) {
  norm_cpu(arrays, rows, stream, [eps](std::span<float> row) {
    const auto count = static_cast<float>(row.size());
    const float squares = sum_in_lanes(row.size(), [&](std::size_t i) { return row[i] * row[i]; });
    const float scale = 1 / std::sqrt(squares / count + eps);
    for (float& value : row) value *= scale;
  });
}

}  // namespace gpuforge::ops
