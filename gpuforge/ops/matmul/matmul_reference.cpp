#include "gpuforge/ops/matmul/matmul_reference.h"

#include <cmath>
#include <vector>

#include "gpuforge/ops/wrapped.h"

namespace gpuforge::ops {

lab::Expected matmul_reference(const lab::HostTensor& a, const lab::HostTensor& b, DType dtype,
                               const lab::EachRow& each_row) {
  const auto k = static_cast<std::size_t>(b.shape[0]), n = static_cast<std::size_t>(b.shape[1]);
  std::size_t rows = 1;
  for (std::size_t d = 0; d + 1 < a.shape.size(); ++d) rows *= static_cast<std::size_t>(a.shape[d]);
  lab::Expected expected;
  expected.values.resize(rows * n);
  expected.magnitudes.resize(rows * n);
  each_row(rows, n * k, [&](std::size_t row) {
    // Column by column of a row of a, so that rows of b are read as they lie.
    double* const sums = expected.values.data() + row * n;
    double* const sizes = expected.magnitudes.data() + row * n;
    std::vector<std::uint64_t> whole(is_floating(dtype) ? 0 : n);
    for (std::size_t i = 0; i < k; ++i) {
      const double left = a.values[row * k + i];
      const double* const right = b.values.data() + i * n;
      if (is_floating(dtype)) {
        for (std::size_t column = 0; column < n; ++column) {
          sums[column] += left * right[column];
          sizes[column] += std::abs(left * right[column]);
        }
        continue;
      }
      for (std::size_t column = 0; column < n; ++column) {
        whole[column] += static_cast<std::uint64_t>(static_cast<std::int64_t>(left)) *
                         static_cast<std::uint64_t>(static_cast<std::int64_t>(right[column]));
      }
    }
    for (std::size_t column = 0; column < whole.size(); ++column) {
      sums[column] = wrapped(whole[column], dtype);
      sizes[column] = std::abs(sums[column]);
    }
  });
  return expected;
}

}  // namespace gpuforge::ops
