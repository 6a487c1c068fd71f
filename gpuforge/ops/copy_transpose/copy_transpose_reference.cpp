#include "gpuforge/ops/copy_transpose/copy_transpose_reference.h"

namespace gpuforge::ops {

lab::Expected copy_transpose_reference(const lab::HostTensor& x) {
  const std::size_t rows = static_cast<std::size_t>(x.shape[0]);
  const std::size_t columns = static_cast<std::size_t>(x.shape[1]);
  lab::Expected out;
  out.values.resize(x.values.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) out.values[j * rows + i] = x.values[i * columns + j];
  }
  return out;
}

}  // namespace gpuforge::ops
