#include "gpuforge/ops/rms_norm_backward/rms_norm_backward_reference.h"

#include <cmath>

namespace gpuforge::ops {

std::vector<lab::Expected> rms_norm_backward_reference(const lab::HostTensor& dy, const lab::HostTensor& x,
                                                       const lab::HostTensor* weight, double eps,
                                                       const lab::EachRow& each_row) {
  const std::size_t length = static_cast<std::size_t>(x.shape.back());
  const auto count = static_cast<double>(length);
  lab::Expected dx{std::vector<double>(x.values.size()), std::vector<double>(x.values.size())};
  lab::Expected dweight{std::vector<double>(length), std::vector<double>(length)};
  const std::size_t rows = length == 0 ? 0 : x.values.size() / length;
  std::vector<double> scales(rows);
  each_row(rows, length, [&](std::size_t row) {
    const std::size_t first = row * length;
    double squares = 0;
    double products = 0;
    double product_sizes = 0;
    for (std::size_t k = 0; k < length; ++k) {
      const double factor = weight == nullptr ? 1 : weight->values[k];
      const double product = dy.values[first + k] * factor * x.values[first + k];
      squares += x.values[first + k] * x.values[first + k];
      products += product;
      product_sizes += std::abs(product);
    }
    const double r = 1 / std::sqrt(squares / count + eps);
    scales[row] = r;
    for (std::size_t k = 0; k < length; ++k) {
      const std::size_t at = first + k;
      const double factor = weight == nullptr ? 1 : weight->values[k];
      dx.values[at] = r * (dy.values[at] * factor - x.values[at] * (r * r * (products / count)));
      dx.magnitudes[at] =
          r * (std::abs(dy.values[at] * factor) + std::abs(x.values[at]) * (r * r * (product_sizes / count)));
    }
  });
  each_row(length, rows, [&](std::size_t k) {
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t at = row * length + k;
      const double term = dy.values[at] * (x.values[at] * scales[row]);
      dweight.values[k] += term;
      dweight.magnitudes[k] += std::abs(term);
    }
  });
  std::vector<lab::Expected> results{std::move(dx)};
  if (weight != nullptr) results.push_back(std::move(dweight));
  return results;
}

}  // namespace gpuforge::ops
