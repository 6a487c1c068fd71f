#include "gpuforge/array/strided.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "gpuforge/base/convert.h"
#include "gpuforge/base/error.h"

namespace gpuforge {
namespace {

// A tile of 64 x 64 elements of 8 bytes is 32 KB, which a first-level cache holds.
constexpr std::int64_t kTile = 64;
constexpr std::int64_t kConvertChunk = 512;

struct Axis {
  std::int64_t extent;
  std::int64_t to;
  std::int64_t from;
};

// Strides of the loops that are left, in bytes.
struct Loops {
  std::array<Axis, kMaxRank> axes;
  std::size_t rank = 0;
  Axis rows{1, 0, 0};  // the axis along which the source is densest, when that is not the inner one
  Axis inner{1, 0, 0};
};

Loops make_loops(const StridedWalk& walk, std::size_t to_bytes, std::size_t from_bytes) {
  Loops loops;
  const std::size_t rank = walk.extents.size();
  const auto axis = [&](std::size_t i) {
    return Axis{walk.extents[i], walk.to_strides[i] * static_cast<std::int64_t>(to_bytes),
                walk.from_strides[i] * static_cast<std::int64_t>(from_bytes)};
  };
  std::size_t densest = rank;
  for (std::size_t i = 0; i < rank; ++i) {
    if (walk.from_strides[i] == 0) continue;
    if (densest == rank || std::abs(walk.from_strides[i]) <= std::abs(walk.from_strides[densest]))
      densest = i;
  }
  for (std::size_t i = 0; i + 1 < rank; ++i) {
    if (i == densest) {
      loops.rows = axis(i);
    } else {
      loops.axes[loops.rank++] = axis(i);
    }
  }
  if (rank > 0) loops.inner = axis(rank - 1);
  return loops;
}

// Calls row(to, from, count) for pieces of the inner axis, tile by tile.
template <typename Row>
void for_each_row(std::byte* to, const std::byte* from, const Loops& loops, Row row) {
  const std::int64_t piece = loops.rows.extent > 1 ? kTile : loops.inner.extent;
  std::array<std::int64_t, kMaxRank> at{};
  for (;;) {
    for (std::int64_t row0 = 0; row0 < loops.rows.extent; row0 += kTile) {
      const std::int64_t row_end = std::min(row0 + kTile, loops.rows.extent);
      for (std::int64_t inner0 = 0; inner0 < loops.inner.extent; inner0 += piece) {
        const std::int64_t count = std::min(piece, loops.inner.extent - inner0);
        for (std::int64_t r = row0; r < row_end; ++r) {
          row(to + r * loops.rows.to + inner0 * loops.inner.to,
              from + r * loops.rows.from + inner0 * loops.inner.from, count);
        }
      }
    }
    std::size_t i = loops.rank;
    for (; i > 0; --i) {
      const Axis& axis = loops.axes[i - 1];
      to += axis.to;
      from += axis.from;
      if (++at[i - 1] < axis.extent) break;
      to -= axis.to * axis.extent;
      from -= axis.from * axis.extent;
      at[i - 1] = 0;
    }
    if (i == 0) return;
  }
}

template <std::size_t kBytes>
void move_elements(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride,
                   std::int64_t count) {
  constexpr auto kDense = static_cast<std::int64_t>(kBytes);
  if (to_stride == kDense && from_stride == kDense) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * kBytes);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, kBytes);
}

void move_elements(std::size_t bytes, std::byte* to, std::int64_t to_stride, const std::byte* from,
                   std::int64_t from_stride, std::int64_t count) {
  switch (bytes) {
    case 1:
      return move_elements<1>(to, to_stride, from, from_stride, count);
    case 2:
      return move_elements<2>(to, to_stride, from, from_stride, count);
    case 4:
      return move_elements<4>(to, to_stride, from, from_stride, count);
    case 8:
      return move_elements<8>(to, to_stride, from, from_stride, count);
    default:
      GPUFORGE_ASSERT(false, "array: elements of {} bytes", bytes);
  }
}

}  // namespace

bool StridedWalk::dense() const {
  return extents.empty() || (extents.size() == 1 && to_strides[0] == 1 && from_strides[0] == 1);
}

StridedWalk make_walk(const Shape& shape, const Strides& to, const Strides& from) {
  StridedWalk walk;
  std::array<Axis, kMaxRank> axes;
  std::size_t rank = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    Axis axis{shape[i], to[i], from[i]};
    // Walked from its other end, so that writes go forward and reversed pairs merge.
    if (axis.to < 0) {
      walk.to_start += (axis.extent - 1) * axis.to;
      walk.from_start += (axis.extent - 1) * axis.from;
      axis.to = -axis.to;
      axis.from = -axis.from;
    }
    axes[rank++] = axis;
  }
  std::stable_sort(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(rank),
                   [](const Axis& a, const Axis& b) { return a.to > b.to; });
  for (std::size_t i = 0; i < rank; ++i) {
    const Axis& axis = axes[i];
    if (i > 0) {
      const std::size_t last = walk.extents.size() - 1;
      if (walk.to_strides[last] == axis.to * axis.extent &&
          walk.from_strides[last] == axis.from * axis.extent) {
        walk.extents[last] *= axis.extent;
        walk.to_strides[last] = axis.to;
        walk.from_strides[last] = axis.from;
        continue;
      }
    }
    walk.extents.push_back(axis.extent);
    walk.to_strides.push_back(axis.to);
    walk.from_strides.push_back(axis.from);
  }
  return walk;
}

void copy_on_host(std::byte* to, DType to_dtype, const std::byte* from, DType from_dtype,
                  const StridedWalk& walk) {
  const std::size_t to_bytes = element_bytes(to_dtype);
  const std::size_t from_bytes = element_bytes(from_dtype);
  const Loops loops = make_loops(walk, to_bytes, from_bytes);
  to += walk.to_start * static_cast<std::int64_t>(to_bytes);
  from += walk.from_start * static_cast<std::int64_t>(from_bytes);
  if (to_dtype == from_dtype) {
    for_each_row(to, from, loops, [&](std::byte* to_row, const std::byte* from_row, std::int64_t count) {
      move_elements(to_bytes, to_row, loops.inner.to, from_row, loops.inner.from, count);
    });
    return;
  }
  const auto dense_to = static_cast<std::int64_t>(to_bytes);
  const auto dense_from = static_cast<std::int64_t>(from_bytes);
  const bool to_dense = loops.inner.to == dense_to || walk.extents.empty();
  const bool from_dense = loops.inner.from == dense_from || walk.extents.empty();
  alignas(8) std::array<std::byte, kConvertChunk * 8> gathered;
  alignas(8) std::array<std::byte, kConvertChunk * 8> converted;
  for_each_row(to, from, loops, [&](std::byte* to_row, const std::byte* from_row, std::int64_t count) {
    if (to_dense && from_dense) {
      convert_elements(to_row, to_dtype, from_row, from_dtype, static_cast<std::size_t>(count));
      return;
    }
    for (std::int64_t at = 0; at < count; at += kConvertChunk) {
      const std::int64_t n = std::min(kConvertChunk, count - at);
      std::byte* const out = to_row + at * loops.inner.to;
      const std::byte* in = from_row + at * loops.inner.from;
      if (!from_dense) {
        move_elements(from_bytes, gathered.data(), dense_from, in, loops.inner.from, n);
        in = gathered.data();
      }
      convert_elements(to_dense ? out : converted.data(), to_dtype, in, from_dtype,
                       static_cast<std::size_t>(n));
      if (!to_dense) move_elements(to_bytes, out, loops.inner.to, converted.data(), dense_to, n);
    }
  });
}

void fill_on_host(std::byte* to, const std::byte* value, std::size_t element_bytes, const StridedWalk& walk) {
  to += walk.to_start * static_cast<std::int64_t>(element_bytes);
  Loops loops = make_loops(walk, element_bytes, 0);
  for_each_row(to, value, loops, [&](std::byte* row, const std::byte*, std::int64_t count) {
    move_elements(element_bytes, row, loops.inner.to, value, 0, count);
  });
}

}  // namespace gpuforge
