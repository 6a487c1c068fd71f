// Rows of the output in blocks: a panel of b is converted once for a block of rows, and a row of the result
// grows by one multiple of a row of b after the other, which the compiler makes vectors of.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "gpuforge/base/convert.h"
#include "gpuforge/base/parallel.h"
#include "gpuforge/ops/elementwise/host_functions.h"
#include "gpuforge/ops/matmul/matmul_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::int64_t kRows = 32;       // of the output a thread works on
constexpr std::int64_t kColumns = 256;   // of them at once
constexpr std::int64_t kDepth = 128;     // rows of b in a panel
constexpr std::int64_t kWork = 1 << 16;  // products worth a thread

template <typename A>
void load_line(A* to, const std::byte* from, DType dtype, std::int64_t stride, std::int64_t count) {
  const auto bytes = static_cast<std::int64_t>(element_bytes(dtype));
  if (stride == 1) {
    convert_elements(to, dtype_of<A>(), from, dtype, static_cast<std::size_t>(count));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    convert_elements(to + i, dtype_of<A>(), from + i * stride * bytes, dtype, 1);
  }
}

template <typename A>
void add_multiple(A* __restrict to, A factor, const A* __restrict row, std::int64_t count) {
  if constexpr (std::is_integral_v<A>) {
    using Bits = std::make_unsigned_t<A>;
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] =
          static_cast<A>(static_cast<Bits>(to[i]) + static_cast<Bits>(factor) * static_cast<Bits>(row[i]));
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] += factor * row[i];
  }
}

// Integers wrap where convert_elements would stop at their ends.
template <typename A>
void store(std::byte* to, DType dtype, A value) {
  if constexpr (std::is_same_v<A, std::int32_t>) {
    if (dtype == DType::i16) value = static_cast<std::int16_t>(value);
    if (dtype == DType::i8) value = static_cast<std::int8_t>(value);
    if (dtype == DType::u8) value = static_cast<std::uint8_t>(value);
  }
  convert_elements(to, dtype, &value, dtype_of<A>(), 1);
}

struct Places {
  std::byte* first[3];  // out, a and b of one batch
};

Places places_of(const MatmulProblem& problem, std::byte* const (&start)[3], std::int64_t bytes,
                 std::int64_t batch) {
  Places places{{start[0], start[1], start[2]}};
  for (std::size_t d = static_cast<std::size_t>(problem.rank); d-- > 0;) {
    const std::int64_t at = batch % problem.extents[d];
    batch /= problem.extents[d];
    for (std::size_t i = 0; i < 3; ++i) places.first[i] += at * problem.strides[i][d] * bytes;
  }
  return places;
}

template <typename A>
void run(const MatmulProblem& problem, std::byte* const (&start)[3], DType dtype) {
  const auto bytes = static_cast<std::int64_t>(element_bytes(dtype));
  const std::int64_t groups = (problem.m + kRows - 1) / kRows;
  const std::int64_t strips = (problem.n + kColumns - 1) / kColumns;
  const std::int64_t grain =
      std::max<std::int64_t>(1, kWork / (kRows * std::min(problem.n, kColumns) * problem.k));
  parallel_ranges(problem.batches * groups * strips, grain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<A> panel(kDepth * kColumns), left(kDepth), sums(kRows * kColumns);
    for (std::int64_t item = begin; item < end; ++item) {
      const Places at = places_of(problem, start, bytes, item / (groups * strips));
      const std::int64_t first_row = item / strips % groups * kRows;
      const std::int64_t first_column = item % strips * kColumns;
      const std::int64_t rows = std::min(kRows, problem.m - first_row);
      const std::int64_t columns = std::min(kColumns, problem.n - first_column);
      std::fill(sums.begin(), sums.end(), A(0));
      for (std::int64_t k = 0; k < problem.k; k += kDepth) {
        const std::int64_t depth = std::min(kDepth, problem.k - k);
        for (std::int64_t d = 0; d < depth; ++d) {
          load_line(panel.data() + d * kColumns,
                    at.first[2] + ((k + d) * problem.rows[2] + first_column * problem.columns[2]) * bytes,
                    dtype, problem.columns[2], columns);
        }
        for (std::int64_t row = 0; row < rows; ++row) {
          load_line(left.data(),
                    at.first[1] + ((first_row + row) * problem.rows[1] + k * problem.columns[1]) * bytes,
                    dtype, problem.columns[1], depth);
          for (std::int64_t d = 0; d < depth; ++d) {
            add_multiple(sums.data() + row * kColumns, left[static_cast<std::size_t>(d)],
                         panel.data() + d * kColumns, columns);
          }
        }
      }
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column < columns; ++column) {
          store(at.first[0] +
                    ((first_row + row) * problem.rows[0] + (first_column + column) * problem.columns[0]) *
                        bytes,
                dtype, sums[static_cast<std::size_t>(row * kColumns + column)]);
        }
      }
    }
  });
}

}  // namespace

void matmul_cpu(const Array& out, const Array& a, const Array& b, const MatmulProblem& problem,
                device::Stream& stream) {
  const memory::Hold uses[] = {out.record_use(stream), a.record_use(stream), b.record_use(stream)};
  stream.enqueue([out, a, b, problem] {
    std::byte* const start[] = {reinterpret_cast<std::byte*>(out.address()),
                                reinterpret_cast<std::byte*>(a.address()),
                                reinterpret_cast<std::byte*>(b.address())};
    switch (compute_dtype(out.dtype())) {
      case DType::f64:
        return run<double>(problem, start, out.dtype());
      case DType::f32:
        return run<float>(problem, start, out.dtype());
      case DType::i64:
        return run<std::int64_t>(problem, start, out.dtype());
      default:
        return run<std::int32_t>(problem, start, out.dtype());
    }
  });
}

}  // namespace gpuforge::ops
