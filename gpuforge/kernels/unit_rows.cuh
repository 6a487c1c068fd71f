// Rows of neighbours at equal distances, as arrays without holes have them along their last axis: what Rows
// is for any strides, in a few words and with no division. A kernel that is over in two microseconds spends a
// good part of them on finding its row: Rows<2> are 400 bytes of parameters in seven lines of the constant
// cache.
//   RowsOf<kArrays, kForm>::Type     UnitRows or Rows
//   axis_stride(rows, array)         from an element of a row to the next
#pragma once

#include "gpuforge/kernels/rows.cuh"

namespace gpuforge {

template <int kArrays>
struct UnitRows {
  long long length;
  long long count;
  long long ahead;             // for RowGroup::read_ahead
  long long strides[kArrays];  // from a row to the next, in elements
};

template <int kArrays>
__device__ inline RowOffsets<kArrays> row_offsets(const UnitRows<kArrays>& all, long long row) {
  RowOffsets<kArrays> result;
#pragma unroll
  for (int a = 0; a < kArrays; ++a) result.at[a] = row * all.strides[a];
  return result;
}

template <int kArrays>
__device__ inline long long axis_stride(const UnitRows<kArrays>&, int) {
  return 1;
}
template <int kArrays>
__device__ inline long long axis_stride(const Rows<kArrays>& all, int array) {
  return all.axis_strides[array];
}

// What a kernel is compiled for: rows of any strides; UnitRows; or such of them as are whole vectors, each
// aligned, in every array. Those have no single elements at their ends, and a kernel for them is a third
// shorter: where a few warps go through it once, every instruction takes some 8 cycles.
constexpr int kAnyRows = 0, kUnitRows = 1, kWholeRows = 2;

template <int kArrays, int kForm>
struct RowsOf {
  using Type = UnitRows<kArrays>;
};
template <int kArrays>
struct RowsOf<kArrays, kAnyRows> {
  using Type = Rows<kArrays>;
};

}  // namespace gpuforge
