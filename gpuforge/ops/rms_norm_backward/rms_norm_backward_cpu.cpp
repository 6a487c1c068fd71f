#include <cmath>
#include <optional>
#include <vector>

#include "gpuforge/base/parallel.h"
#include "gpuforge/ops/host_rows.h"
#include "gpuforge/ops/rms_norm_backward/rms_norm_backward_kernels.h"

namespace gpuforge::ops {
namespace {

std::optional<Array> copy_of(const Array* array) {
  return array == nullptr ? std::nullopt : std::optional(*array);
}

// Rows of dweight's terms are added up in pieces of so many, whatever the number of threads.
constexpr std::int64_t kRowsAPiece = 64;

}  // namespace

void rms_norm_backward_cpu(const RmsBackwardArrays& arrays, const Rows& rows, float eps,
                           device::Stream& stream) {
  stream.enqueue([dx = arrays.dx, dy = arrays.dy, x = arrays.x, dweight = copy_of(arrays.dweight),
                  weight = copy_of(arrays.weight), rows, eps] {
    const auto length = static_cast<std::size_t>(rows.length);
    const auto count = static_cast<float>(rows.length);
    const std::int64_t pieces = (rows.count + kRowsAPiece - 1) / kRowsAPiece;
    std::vector<float> factors(length, 1.0F);
    if (weight) load_row(factors, rows, host_rows(*weight, kRmsWeight), 0);
    std::vector<float> partials(dweight ? static_cast<std::size_t>(pieces) * length : 0);
    parallel_ranges(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> values(length), gradients(length), results(length);
      for (std::int64_t r = begin * kRowsAPiece; r < std::min(end * kRowsAPiece, rows.count); ++r) {
        load_row(values, rows, host_rows(x, kRmsX), r);
        load_row(gradients, rows, host_rows(dy, kRmsDy), r);
        const float squares = sum_in_lanes(length, [&](std::size_t i) { return values[i] * values[i]; });
        const float products =
            sum_in_lanes(length, [&](std::size_t i) { return gradients[i] * factors[i] * values[i]; });
        const float scale = 1 / std::sqrt(squares / count + eps);
        const float slope = scale * scale * (products / count);
        for (std::size_t i = 0; i < length; ++i)
          results[i] = scale * (gradients[i] * factors[i] - values[i] * slope);
        store_row(rows, host_rows(dx, kRmsDx), r, results);
        if (!dweight) continue;
        float* const sums = partials.data() + static_cast<std::size_t>(r / kRowsAPiece) * length;
        for (std::size_t i = 0; i < length; ++i) sums[i] += gradients[i] * (values[i] * scale);
      }
    });
    if (!dweight) return;
    std::vector<float> sums(length);
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const float* const terms = partials.data() + static_cast<std::size_t>(piece) * length;
      for (std::size_t i = 0; i < length; ++i) sums[i] += terms[i];
    }
    const Rows one = make_rows({rows.length}, {dweight->strides()}, 0);
    store_row(one, host_rows(*dweight, 0), 0, sums);
  });
}

}  // namespace gpuforge::ops
