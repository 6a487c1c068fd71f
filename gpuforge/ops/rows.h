// Arrays of one shape seen as rows along an axis: what kernels that work along one axis are launched with.
// The device's side is gpuforge/kernels/rows.cuh. Not installed.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "gpuforge/array/array.h"

namespace gpuforge::ops {

inline constexpr std::size_t kMaxRowArrays = 8;

struct RowArray {
  std::int64_t axis_stride = 0;
  Strides strides;  // of the outer extents
};

// Rows come in an order of our choice, the same for every array: outer axes are sorted by the strides of the
// first array, widest first, and merged where all arrays allow it. There is no outer extent of one.
struct Rows {
  std::int64_t length = 1;  // of the axis
  std::int64_t count = 1;   // rows: the product of the extents
  Shape extents;
  std::size_t array_count = 0;
  std::array<RowArray, kMaxRowArrays> arrays;

  // Neighbouring elements of a row are neighbours in memory.
  bool unit_rows(std::size_t array) const { return length <= 1 || arrays[array].axis_stride == 1; }
  // Neighbouring rows are neighbours in memory: threads side by side should take rows side by side.
  bool unit_columns(std::size_t array) const;
  // Of the innermost outer axis: rows that unit_columns speaks of come in runs of so many. 1 without one.
  std::int64_t columns() const { return extents.empty() ? 1 : extents.back(); }
};

// `strides`: one for each array, of the shape's rank; zeros where an array lacks the axis (what a reduction
// writes) or all others (a weight). The shape may have extents of zero.
Rows make_rows(const Shape& shape, std::span<const Strides> strides, std::size_t axis);
Rows make_rows(const Shape& shape, std::initializer_list<Strides> strides, std::size_t axis);

// Where an array of a Rows begins.
struct RowStart {
  std::size_t array = 0;  // its index
  device::Address address = 0;
  std::size_t element_bytes = 0;
};
// The most elements, a power of two up to `most`, that one load may have in the rows of all these arrays,
// each row begun with a head of single elements (split_row() of rows.cuh): the arrays need to agree on the
// head for every row, not to be aligned. 1 when a row is not of neighbours or is shorter than two vectors.
int row_vector(const Rows& rows, std::span<const RowStart> starts, int most);
int row_vector(const Rows& rows, std::initializer_list<RowStart> starts, int most);
// The same across rows: so many rows, neighbours in memory in all these arrays, are aligned and within one
// innermost extent, at every element of the axis.
int column_vector(const Rows& rows, std::span<const RowStart> starts, int most);
int column_vector(const Rows& rows, std::initializer_list<RowStart> starts, int most);

// The same members as Rows in rows.cuh.
template <std::size_t kArrays>
struct DeviceRows {
  std::int64_t length = 0;
  std::int64_t count = 0;
  std::array<std::int64_t, kMaxRank - 1> extents{};
  std::array<std::array<std::int64_t, kMaxRank - 1>, kArrays> strides{};
  std::array<std::int64_t, kArrays> axis_strides{};
  std::int32_t rank = 0;
};

template <std::size_t kArrays>
DeviceRows<kArrays> device_rows(const Rows& rows) {
  GPUFORGE_ASSERT(rows.array_count == kArrays, "rows of {} arrays for a kernel with {}", rows.array_count,
                  kArrays);
  DeviceRows<kArrays> result;
  result.length = rows.length;
  result.count = rows.count;
  result.rank = static_cast<std::int32_t>(rows.extents.size());
  for (std::size_t d = 0; d < rows.extents.size(); ++d) {
    result.extents[d] = rows.extents[d];
    for (std::size_t a = 0; a < kArrays; ++a) result.strides[a][d] = rows.arrays[a].strides[d];
  }
  for (std::size_t a = 0; a < kArrays; ++a) result.axis_strides[a] = rows.arrays[a].axis_stride;
  return result;
}

// Every row of the array begins at a multiple of `vector` elements and is of whole ones.
bool is_aligned(const Rows& rows, const RowStart& start, int vector);

// Element offset of row `row` in an array, on the host.
std::int64_t row_offset(const Rows& rows, std::size_t array, std::int64_t row);

}  // namespace gpuforge::ops
