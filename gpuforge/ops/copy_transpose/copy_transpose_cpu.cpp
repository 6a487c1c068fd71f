#include <algorithm>

#include "gpuforge/base/parallel.h"
#include "gpuforge/ops/copy_transpose/copy_transpose_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::int64_t kBlock = 32;  // 32 rows of 128 bytes stay in the nearest cache, read and written

template <typename T>
void transpose_strip(T* to, const T* from, const WideMatrix& m, std::int64_t i0) {
  const std::int64_t i_end = std::min(i0 + kBlock, m.rows);
  for (std::int64_t j0 = 0; j0 < m.columns; j0 += kBlock) {
    for (std::int64_t j = j0; j < std::min(j0 + kBlock, m.columns); ++j) {
      for (std::int64_t i = i0; i < i_end; ++i)
        to[j * m.out_row + i * m.out_column] = from[i * m.x_row + j * m.x_column];
    }
  }
}

template <typename T>
void transpose(const Array& out, const Array& x) {
  T* const to = reinterpret_cast<T*>(out.address());
  const T* const from = reinterpret_cast<const T*>(x.address());
  const TransposePlan plan = plan_transpose(x.shape(), x.strides(), out.strides(), true);
  const std::int64_t strips = (plan.matrix.rows + kBlock - 1) / kBlock;
  const std::int64_t grain =
      std::max<std::int64_t>(1, (std::int64_t{1} << 16) / (kBlock * plan.matrix.columns));
  parallel_ranges(plan.planes.count * strips, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t strip = begin; strip < end; ++strip) {
      const std::int64_t plane = strip / strips;
      transpose_strip(to + row_offset(plan.planes, 1, plane), from + row_offset(plan.planes, 0, plane),
                      plan.matrix, strip % strips * kBlock);
    }
  });
}

}  // namespace

void copy_transpose_cpu(const Array& out, const Array& x, device::Stream& stream) {
  const memory::Hold uses[] = {out.record_use(stream), x.record_use(stream)};
  stream.enqueue([out, x] {
    if (element_bytes(x.dtype()) == 2) {
      transpose<std::uint16_t>(out, x);
    } else {
      transpose<std::uint32_t>(out, x);
    }
  });
}

}  // namespace gpuforge::ops
