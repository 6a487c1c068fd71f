#include "gpuforge/ops/rows.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>

#include "gpuforge/ops/unit_rows.h"

namespace gpuforge::ops {
namespace {

// Without initial values: only so many strides as there are arrays are looked at.
struct OuterAxis {
  std::int64_t extent;
  std::array<std::int64_t, kMaxRowArrays> strides;
};

// An axis along which the first array does not move must not stand where its neighbours would.
std::int64_t sort_key(const OuterAxis& axis) {
  const std::int64_t stride = axis.strides[0];
  return stride == 0 ? std::numeric_limits<std::int64_t>::max() : std::abs(stride);
}

// Stepping once along `outer` is walking `inner` to its end, in every array.
bool continues(const OuterAxis& outer, const OuterAxis& inner, std::size_t arrays) {
  for (std::size_t a = 0; a < arrays; ++a) {
    if (outer.strides[a] != inner.strides[a] * inner.extent) return false;
  }
  return true;
}

// Of a power of two; not negative for negative values.
std::int64_t remainder(std::int64_t value, std::int64_t divisor) {
  return value & (divisor - 1);
}

std::int64_t first_element(const RowStart& start) {
  return static_cast<std::int64_t>(start.address / start.element_bytes);
}

// Every row of the two arrays begins equally far from a multiple of `vector` elements.
bool agree(const Rows& rows, const RowStart& a, const RowStart& b, std::int64_t vector) {
  if (remainder(first_element(a), vector) != remainder(first_element(b), vector)) return false;
  for (std::size_t d = 0; d < rows.extents.size(); ++d) {
    const std::int64_t difference = rows.arrays[a.array].strides[d] - rows.arrays[b.array].strides[d];
    if (remainder(difference, vector) != 0) return false;
  }
  return true;
}

bool columns_aligned(const Rows& rows, const RowStart& start, std::int64_t vector) {
  const RowArray& array = rows.arrays[start.array];
  if (remainder(first_element(start), vector) != 0) return false;
  if (rows.length > 1 && remainder(array.axis_stride, vector) != 0) return false;
  for (std::size_t d = 0; d + 1 < rows.extents.size(); ++d) {
    if (remainder(array.strides[d], vector) != 0) return false;
  }
  return true;
}

int power_of_two(int most) {
  return most < 1 ? 1 : static_cast<int>(std::bit_floor(static_cast<unsigned>(most)));
}

}  // namespace

bool Rows::unit_columns(std::size_t array) const {
  return !extents.empty() && arrays[array].strides.back() == 1;
}

Rows make_rows(const Shape& shape, std::span<const Strides> strides, std::size_t axis) {
  GPUFORGE_ASSERT(axis < shape.size(), "make_rows: axis {} of shape {}", axis, to_string(shape));
  GPUFORGE_ASSERT(!strides.empty() && strides.size() <= kMaxRowArrays, "make_rows: {} arrays",
                  strides.size());
  Rows rows;
  rows.array_count = strides.size();
  rows.length = shape[axis];
  std::array<OuterAxis, kMaxRank> outer;
  std::size_t rank = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d == axis || shape[d] == 1) continue;
    rows.count *= shape[d];
    OuterAxis next;
    next.extent = shape[d];
    for (std::size_t a = 0; a < strides.size(); ++a) next.strides[a] = strides[a][d];
    // Widest first, in the order given where they are alike.
    std::size_t at = rank++;
    for (; at > 0 && sort_key(outer[at - 1]) < sort_key(next); --at) outer[at] = outer[at - 1];
    outer[at] = next;
  }
  for (std::size_t a = 0; a < strides.size(); ++a) {
    GPUFORGE_ASSERT(strides[a].size() == shape.size(), "make_rows: strides {} for shape {}",
                    to_string(strides[a]), to_string(shape));
    rows.arrays[a].axis_stride = strides[a][axis];
  }
  for (std::size_t d = 0; d < rank;) {
    OuterAxis merged = outer[d++];
    while (d < rank && continues(merged, outer[d], strides.size())) {
      merged.extent *= outer[d].extent;
      merged.strides = outer[d++].strides;
    }
    rows.extents.push_back(merged.extent);
    for (std::size_t a = 0; a < strides.size(); ++a) rows.arrays[a].strides.push_back(merged.strides[a]);
  }
  return rows;
}

Rows make_rows(const Shape& shape, std::initializer_list<Strides> strides, std::size_t axis) {
  return make_rows(shape, std::span(strides.begin(), strides.size()), axis);
}

int row_vector(const Rows& rows, std::span<const RowStart> starts, int most) {
  for (const RowStart& start : starts) {
    if (!rows.unit_rows(start.array)) return 1;
  }
  int vector = power_of_two(most);
  while (vector > 1) {
    const bool possible = rows.length >= 2 * std::int64_t{vector} &&
                          std::all_of(starts.begin(), starts.end(), [&](const RowStart& start) {
                            return agree(rows, starts.front(), start, vector);
                          });
    if (possible) break;
    vector /= 2;
  }
  return vector;
}

int row_vector(const Rows& rows, std::initializer_list<RowStart> starts, int most) {
  return row_vector(rows, std::span(starts.begin(), starts.size()), most);
}

int column_vector(const Rows& rows, std::span<const RowStart> starts, int most) {
  for (const RowStart& start : starts) {
    if (!rows.unit_columns(start.array)) return 1;
  }
  int vector = power_of_two(most);
  while (vector > 1) {
    const bool possible = remainder(rows.columns(), vector) == 0 &&
                          std::all_of(starts.begin(), starts.end(), [&](const RowStart& start) {
                            return columns_aligned(rows, start, vector);
                          });
    if (possible) break;
    vector /= 2;
  }
  return vector;
}

int column_vector(const Rows& rows, std::initializer_list<RowStart> starts, int most) {
  return column_vector(rows, std::span(starts.begin(), starts.size()), most);
}

bool is_aligned(const Rows& rows, const RowStart& start, int vector) {
  const Strides& strides = rows.arrays[start.array].strides;
  return remainder(first_element(start), vector) == 0 && remainder(rows.length, vector) == 0 &&
         std::all_of(strides.begin(), strides.end(),
                     [&](std::int64_t stride) { return remainder(stride, vector) == 0; });
}

RowForm row_form(const Rows& rows, std::span<const RowStart> starts, int vector) {
  if (!has_equal_distances(rows)) return RowForm::any;
  for (std::size_t a = 0; a < rows.array_count; ++a) {
    if (!rows.unit_rows(a)) return RowForm::any;
  }
  const bool whole = vector > 1 && std::all_of(starts.begin(), starts.end(), [&](const RowStart& start) {
                       return is_aligned(rows, start, vector);
                     });
  return whole ? RowForm::whole : RowForm::unit;
}

std::int64_t row_offset(const Rows& rows, std::size_t array, std::int64_t row) {
  std::int64_t offset = 0;
  for (std::size_t d = rows.extents.size(); d > 0; --d) {
    offset += row % rows.extents[d - 1] * rows.arrays[array].strides[d - 1];
    row /= rows.extents[d - 1];
  }
  return offset;
}

}  // namespace gpuforge::ops
