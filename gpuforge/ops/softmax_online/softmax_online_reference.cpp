#include "gpuforge/ops/softmax_online/softmax_online_reference.h"

#include <cmath>
#include <limits>

namespace gpuforge::ops {

lab::Expected softmax_online_reference(const lab::HostTensor& x, std::size_t axis,
                                       const lab::EachRow& each_row) {
  const std::size_t length = x.shape.empty() ? 1 : static_cast<std::size_t>(x.shape[axis]);
  std::size_t inner = 1;  // elements from one of a row to the next
  for (std::size_t i = axis + 1; i < x.shape.size(); ++i) inner *= static_cast<std::size_t>(x.shape[i]);
  lab::Expected out;
  out.values.resize(x.values.size());
  if (x.values.empty()) return out;
  each_row(x.values.size() / length, length, [&](std::size_t row) {
    const std::size_t first = row / inner * length * inner + row % inner;
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < length; ++k) largest = std::fmax(largest, x.values[first + k * inner]);
    double sum = 0;
    for (std::size_t k = 0; k < length; ++k) sum += std::exp(x.values[first + k * inner] - largest);
    for (std::size_t k = 0; k < length; ++k)
      out.values[first + k * inner] = std::exp(x.values[first + k * inner] - largest) / sum;
  });
  return out;
}

}  // namespace gpuforge::ops
