#include "gpuforge/ops/copy_transpose/copy_transpose_reference.h"

namespace gpuforge::ops {

lab::Expected copy_transpose_reference(const lab::HostTensor& x, const lab::EachRow& each_row) {
  const std::size_t rows = static_cast<std::size_t>(x.shape[x.shape.size() - 2]);
  const std::size_t columns = static_cast<std::size_t>(x.shape.back());
  lab::Expected out;
  out.values.resize(x.values.size());
  if (x.values.empty()) return out;
  each_row(x.values.size() / rows, rows, [&](std::size_t row) {  // of the output
    const std::size_t plane = row / columns * columns * rows;
    const std::size_t j = row % columns;
    for (std::size_t i = 0; i < rows; ++i)
      out.values[plane + j * rows + i] = x.values[plane + i * columns + j];
  });
  return out;
}

}  // namespace gpuforge::ops
