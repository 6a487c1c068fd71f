#include <algorithm>

#include "gpuforge/base/parallel.h"
#include "gpuforge/ops/copy_transpose/copy_transpose_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::int64_t kBlock = 32;  // 32 rows of 128 bytes stay in the nearest cache, read and written

template <typename T>
void transpose(const Array& out, const Array& x) {
  T* const to = reinterpret_cast<T*>(out.address());
  const T* const from = reinterpret_cast<const T*>(x.address());
  const std::int64_t rows = x.shape()[0], columns = x.shape()[1];
  const std::int64_t x_row = x.strides()[0], x_column = x.strides()[1];
  const std::int64_t out_row = out.strides()[0], out_column = out.strides()[1];
  const std::int64_t strips = (rows + kBlock - 1) / kBlock;
  const std::int64_t grain = std::max<std::int64_t>(1, (std::int64_t{1} << 16) / (kBlock * columns));
  parallel_ranges(strips, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i0 = begin * kBlock; i0 < std::min(end * kBlock, rows); i0 += kBlock) {
      for (std::int64_t j0 = 0; j0 < columns; j0 += kBlock) {
        for (std::int64_t j = j0; j < std::min(j0 + kBlock, columns); ++j) {
          for (std::int64_t i = i0; i < std::min(i0 + kBlock, rows); ++i) {
            to[j * out_row + i * out_column] = from[i * x_row + j * x_column];
          }
        }
      }
    }
  });
}

}  // namespace

void copy_transpose_cpu(const Array& out, const Array& x, device::Stream& stream) {
  stream.enqueue([out, x] {
    if (element_bytes(x.dtype()) == 2) {
      transpose<std::uint16_t>(out, x);
    } else {
      transpose<std::uint32_t>(out, x);
    }
  });
}

}  // namespace gpuforge::ops
