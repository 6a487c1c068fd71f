#include "gpuforge/ops/reduce_sum/reduce_sum_reference.h"

#include <cmath>

namespace gpuforge::ops {

lab::Expected reduce_sum_reference(const lab::HostTensor& x, std::size_t axis, const lab::EachRow& each_row) {
  std::size_t outer = 1, inner = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= static_cast<std::size_t>(x.shape[d]);
  for (std::size_t d = axis + 1; d < x.shape.size(); ++d) inner *= static_cast<std::size_t>(x.shape[d]);
  const std::size_t length = static_cast<std::size_t>(x.shape[axis]);
  lab::Expected out{std::vector<double>(outer * inner), std::vector<double>(outer * inner)};
  each_row(outer * inner, length, [&](std::size_t row) {
    const std::size_t first = row / inner * length * inner + row % inner;
    double sum = 0, magnitude = 0;
    for (std::size_t k = 0; k < length; ++k) {
      const double term = x.values[first + k * inner];
      sum += term;
      magnitude += std::abs(term);
    }
    out.values[row] = sum;
    out.magnitudes[row] = magnitude;
  });
  return out;
}

}  // namespace gpuforge::ops
