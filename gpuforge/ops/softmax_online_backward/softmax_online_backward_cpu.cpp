#include <vector>

#include "gpuforge/ops/host_rows.h"
#include "gpuforge/ops/softmax_online_backward/softmax_online_backward_kernels.h"

namespace gpuforge::ops {

void softmax_online_backward_cpu(const Array& dx, const Array& dy, const Array& y, const Rows& rows,
                                 device::Stream& stream) {
  stream.enqueue([dx, dy, y, rows] {
    for_rows(rows, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> results(static_cast<std::size_t>(rows.length));
      std::vector<float> gradients(results.size());
      for (std::int64_t r = begin; r < end; ++r) {
        load_row(results, rows, host_rows(y, 0), r);
        load_row(gradients, rows, host_rows(dy, 1), r);
        const float sum =
            sum_in_lanes(results.size(), [&](std::size_t i) { return gradients[i] * results[i]; });
        for (std::size_t i = 0; i < results.size(); ++i) results[i] *= gradients[i] - sum;
        store_row(rows, host_rows(dx, 2), r, results);
      }
    });
  });
}

}  // namespace gpuforge::ops
