#include <cmath>

#include "gpuforge/ops/host_rows.h"
#include "gpuforge/ops/layer_norm/layer_norm_kernels.h"

namespace gpuforge::ops {

void layer_norm_cpu(const NormArrays& arrays, const Rows& rows, float eps, device::Stream& stream) {
  norm_cpu(arrays, rows, stream, [eps](std::span<float> row) {
    const auto count = static_cast<float>(row.size());
    // Counted from one of them, so that equal numbers have no variance.
    const float pivot = row[0];
    const float apart = sum_in_lanes(row.size(), [&](std::size_t i) { return row[i] - pivot; }) / count;
    const float mean = pivot + apart;
    for (float& value : row) value -= mean;
    const float squares = sum_in_lanes(row.size(), [&](std::size_t i) { return row[i] * row[i]; });
    const float scale = 1 / std::sqrt(squares / count + eps);
    for (float& value : row) value *= scale;
  });
}

}  // namespace gpuforge::ops
