#include "gpuforge/ops/rms_norm/rms_norm_reference.h"

#include <cmath>
#include <limits>

#include "gpuforge/base/convert.h"

namespace gpuforge::ops {

std::vector<double> residual_sums(const lab::HostTensor& x, const lab::HostTensor* residual, DType dtype,
                                  const lab::EachRow& each_row) {
  std::vector<double> sums = x.values;
  if (residual == nullptr) return sums;
  each_row(sums.size(), 1, [&](std::size_t i) {
    // The sum of two floats in double, rounded to float, is their sum in float.
    std::uint32_t stored = 0;
    store_double(&stored, dtype, static_cast<float>(sums[i] + residual->values[i]));
    sums[i] = load_double(&stored, dtype);
  });
  return sums;
}

std::vector<lab::Expected> rms_norm_reference(const lab::HostTensor& x, const lab::HostTensor* weight,
                                              const lab::HostTensor* residual, double eps, DType dtype,
                                              const lab::EachRow& each_row) {
  const std::vector<double> sums = residual_sums(x, residual, dtype, each_row);
  const std::size_t length = static_cast<std::size_t>(x.shape.back());
  lab::Expected out;
  out.values.resize(sums.size());
  each_row(length == 0 ? 0 : sums.size() / length, length, [&](std::size_t row) {
    const std::size_t first = row * length;
    double squares = 0;
    for (std::size_t k = 0; k < length; ++k) squares += sums[first + k] * sums[first + k];
    if (squares > std::numeric_limits<float>::max()) squares = std::numeric_limits<double>::infinity();
    const double scale = 1 / std::sqrt(squares / static_cast<double>(length) + eps);
    for (std::size_t k = 0; k < length; ++k) {
      const double factor = weight == nullptr ? 1 : weight->values[k];
      out.values[first + k] = sums[first + k] * scale * factor;
    }
  });
  std::vector<lab::Expected> results{std::move(out)};
  if (residual != nullptr) results.push_back({.values = sums, .magnitudes = {}});
  return results;
}

}  // namespace gpuforge::ops
