#include "gpuforge/ops/copy_transpose/copy_transpose_reference.h"

namespace gpuforge::ops {

lab::Expected copy_transpose_reference(const lab::HostTensor& x) {
  const std::size_t rows = static_cast<std::size_t>(x.shape[x.shape.size() - 2]);
  const std::size_t columns = static_cast<std::size_t>(x.shape.back());
  lab::Expected out;
  out.values.resize(x.values.size());
  for (std::size_t plane = 0; plane < x.values.size(); plane += rows * columns) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j)
        out.values[plane + j * rows + i] = x.values[plane + i * columns + j];
    }
  }
  return out;
}

}  // namespace gpuforge::ops
