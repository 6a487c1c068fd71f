#include "gpuforge/ops/softmax_online_backward/softmax_online_backward_reference.h"

#include <cmath>

namespace gpuforge::ops {

lab::Expected softmax_online_backward_reference(const lab::HostTensor& dy, const lab::HostTensor& y,
                                                std::size_t axis, const lab::EachRow& each_row) {
  const std::size_t length = y.shape.empty() ? 1 : static_cast<std::size_t>(y.shape[axis]);
  std::size_t inner = 1;  // elements from one of a row to the next
  for (std::size_t i = axis + 1; i < y.shape.size(); ++i) inner *= static_cast<std::size_t>(y.shape[i]);
  lab::Expected dx;
  dx.values.resize(y.values.size());
  dx.magnitudes.resize(y.values.size());
  if (y.values.empty()) return dx;
  each_row(y.values.size() / length, length, [&](std::size_t row) {
    const std::size_t first = row / inner * length * inner + row % inner;
    double sum = 0;
    double sizes = 0;
    for (std::size_t k = 0; k < length; ++k) {
      const double product = dy.values[first + k * inner] * y.values[first + k * inner];
      sum += product;
      sizes += std::abs(product);
    }
    for (std::size_t k = 0; k < length; ++k) {
      const std::size_t at = first + k * inner;
      dx.values[at] = y.values[at] * (dy.values[at] - sum);
      dx.magnitudes[at] = std::abs(y.values[at]) * (std::abs(dy.values[at]) + sizes);
    }
  });
  return dx;
}

}  // namespace gpuforge::ops
