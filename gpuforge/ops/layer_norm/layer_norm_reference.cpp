#include "gpuforge/ops/layer_norm/layer_norm_reference.h"

#include <cmath>

#include "gpuforge/ops/rms_norm/rms_norm_reference.h"

namespace gpuforge::ops {

std::vector<lab::Expected> layer_norm_reference(const lab::HostTensor& x, const lab::HostTensor* weight,
                                                const lab::HostTensor* bias, const lab::HostTensor* residual,
                                                double eps, DType dtype, const lab::EachRow& each_row) {
  const std::vector<double> sums = residual_sums(x, residual, dtype, each_row);
  const std::size_t length = static_cast<std::size_t>(x.shape.back());
  lab::Expected out;
  out.values.resize(sums.size());
  out.magnitudes.resize(sums.size());
  each_row(length == 0 ? 0 : sums.size() / length, length, [&](std::size_t row) {
    const std::size_t first = row * length;
    double mean = 0;
    double mean_size = 0;
    for (std::size_t k = 0; k < length; ++k) {
      mean += sums[first + k] / static_cast<double>(length);
      mean_size += std::abs(sums[first + k]) / static_cast<double>(length);
    }
    double variance = 0;
    for (std::size_t k = 0; k < length; ++k) {
      variance += (sums[first + k] - mean) * (sums[first + k] - mean) / static_cast<double>(length);
    }
    const double scale = 1 / std::sqrt(variance + eps);
    for (std::size_t k = 0; k < length; ++k) {
      const double factor = weight == nullptr ? 1 : weight->values[k];
      const double shift = bias == nullptr ? 0 : bias->values[k];
      out.values[first + k] = (sums[first + k] - mean) * scale * factor + shift;
      out.magnitudes[first + k] =
          (std::abs(sums[first + k]) + mean_size) * scale * std::abs(factor) + std::abs(shift);
    }
  });
  std::vector<lab::Expected> results{std::move(out)};
  if (residual != nullptr) results.push_back({.values = sums, .magnitudes = {}});
  return results;
}

}  // namespace gpuforge::ops
