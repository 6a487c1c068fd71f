#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gpuforge/ops/host_rows.h"
#include "gpuforge/ops/softmax_online/softmax_online_kernels.h"

namespace gpuforge::ops {
namespace {

void softmax(std::span<float> row) {
  float maximum = -std::numeric_limits<float>::infinity();
  for (const float value : row) maximum = std::max(maximum, value);  // NaNs are dropped, and come back below
  for (float& value : row) value = std::exp(value - maximum);
  const float factor = 1 / sum_in_lanes(row.size(), [&](std::size_t i) { return row[i]; });
  for (float& value : row) value *= factor;
}

}  // namespace

void softmax_online_cpu(const Array& out, const Array& x, const Rows& rows, device::Stream& stream) {
  stream.enqueue([out, x, rows] {
    const HostRows from = host_rows(x, 0), to = host_rows(out, 1);
    for_rows(rows, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> row(static_cast<std::size_t>(rows.length));
      for (std::int64_t r = begin; r < end; ++r) {
        load_row(row, rows, from, r);
        softmax(row);
        store_row(rows, to, r, row);
      }
    });
  });
}

}  // namespace gpuforge::ops
