// The kernels of reduce.cu for rows that lie side by side: a reduction over an axis that is not the
// innermost.
#pragma once

#include "gpuforge/kernels/stream_order.cuh"
#include "gpuforge/ops/reduce/lanes.cuh"

namespace gpuforge {

// What a thread has below `next`, `step` elements apart, a member of kGroup: as many as `left` members are.
template <int kGroup, int kFlight, typename T, typename Op, int kVector>
__device__ inline void add_below(Columns<Op, kVector>& totals, const T* next, long long step, int left) {
  for (; left > 0; left -= kPiece * kGroup) {
    Columns<Op, kVector> columns;
    int piece = least(left, kPiece * kGroup);
    for (; piece > (kFlight - 1) * kGroup; piece -= kFlight * kGroup) {
      Packed<T, kVector> loaded[kFlight];
#pragma unroll
      for (int f = 0; f < kFlight; ++f, next += step) loaded[f] = Packed<T, kVector>::load(next);
#pragma unroll
      for (int f = 0; f < kFlight; ++f) columns.add(loaded[f]);
    }
    for (; piece > 0; piece -= kGroup, next += step) columns.add(Packed<T, kVector>::load(next));
    totals.join(columns);
  }
}

// The upper half of the threads hands its totals to the lower, again and again, until kLeft members have
// them.
template <int kGroup, int kAcross, int kLeft, typename Op, int kVector>
__device__ inline void join_members(Columns<Op, kVector>& totals,
                                    typename Columns<Op, kVector>::Value (*halves)[kVector]) {
  const int member = static_cast<int>(threadIdx.x) / kAcross;
#pragma unroll
  for (int half = kGroup / 2; half >= kLeft; half /= 2) {
    if (member >= half && member < 2 * half) totals.put(halves[threadIdx.x - half * kAcross]);
    __syncthreads();
    if (member < half) totals.join(halves[threadIdx.x]);
    __syncthreads();
  }
}

// Neighbouring threads take neighbouring rows, kVector of them each, where those are neighbours in memory;
// kGroup threads below each other share the axis, of which a slice is `per_slice` elements.
template <typename T, typename Op, int kBlock, int kGroup, int kVector, int kFlight>
__global__ void __launch_bounds__(kBlock, 1)
    reduce_columns(T* out, typename Accumulated<Op>::Value* parts, const T* x,
                   const __grid_constant__ Rows<2> rows, int per_slice, float scale) {
  using Value = typename Accumulated<Op>::Value;
  constexpr int kAcross = kBlock / kGroup;
  __shared__ Value halves[kGroup == 1 ? 1 : kBlock / 2][kVector];
  const int member = static_cast<int>(threadIdx.x) / kAcross;
  const long long row =
      (static_cast<long long>(blockIdx.x) * kAcross + static_cast<int>(threadIdx.x) % kAcross) * kVector;
  const RowOffsets<2> at = row_offsets(rows, least(row, rows.count - 1));
  const Slice slice = slice_of(rows.length, per_slice);
  const long long step = rows.axis_strides[0] * kGroup;
  const T* next = x + at.at[0] + (slice.begin + member) * rows.axis_strides[0];
  int left = row < rows.count ? static_cast<int>(slice.end - slice.begin) - member : 0;
  begin_after_previous_kernel();
  Columns<Op, kVector> totals;
  add_below<kGroup, kFlight>(totals, next, step, left);
  join_members<kGroup, kAcross, 1>(totals, halves);
  if (member == 0 && row < rows.count) {
    const long long out_column = rows.rank > 0 ? rows.strides[1][rows.rank - 1] : 0;
#pragma unroll
    for (int k = 0; k < kVector; ++k)
      write_result(out, parts, row + k, at.at[1] + k * out_column, totals.values[k], scale);
  }
}

// The same for one run of columns without gaps, whose rows in memory begin anywhere: the rows of a thread are
// a multiple of kVector apart from each other, so all of them are off by the same `shift`, and it takes
// aligned vectors that much to the left. Its last vector belongs to the next block as well: a block has the
// columns of kAcross - 1 vectors. At the ends of a row vectors reach into the rows before and behind, which
// nobody keeps; only those of the first and of the last row of all would leave the array.
template <typename T, typename Op, int kBlock, int kGroup, int kVector, int kFlight>
__global__ void __launch_bounds__(kBlock, 1)
    reduce_ragged_columns(T* out, typename Accumulated<Op>::Value* parts, const T* x,
                          const __grid_constant__ Rows<2> rows, int per_slice, float scale) {
  using Value = typename Accumulated<Op>::Value;
  constexpr int kAcross = kBlock / kGroup;
  constexpr int kColumns = (kAcross - 1) * kVector;
  static_assert(kGroup % kVector == 0 && kAcross > 1, "a thread's rows are aligned alike");
  __shared__ Value sums[kBlock / 2 > kVector * kAcross ? kBlock / 2 : kVector * kAcross][kVector];
  const int member = static_cast<int>(threadIdx.x) / kAcross;
  const int across = static_cast<int>(threadIdx.x) % kAcross;
  const Slice slice = slice_of(rows.length, per_slice);
  const long long stride = rows.axis_strides[0];
  const long long step = stride * kGroup;
  const long long first = static_cast<long long>(blockIdx.x) * kColumns;  // of the block's columns
  const T* const begin = x + (slice.begin + member) * stride + first;
  const int shift = static_cast<int>(reinterpret_cast<unsigned long long>(begin) / sizeof(T) % kVector);
  const long long column = first + across * kVector - shift;
  const T* next = begin + across * kVector - shift;
  int left = column < rows.count ? static_cast<int>(slice.end - slice.begin) - member : 0;
  begin_after_previous_kernel();
  Columns<Op, kVector> totals;
  if (left > 0 && column < 0 && slice.begin + member == 0) {
    totals.add_some(next, static_cast<int>(-column), kVector);
    left -= kGroup;
    next += step;
  }
  // Of the last row: its place among the thread's is the last, too.
  if (left > 0 && column + kVector > rows.count && slice.end == rows.length && (left - 1) % kGroup == 0) {
    totals.add_some(next + (left - 1) / kGroup * step, 0, static_cast<int>(rows.count - column));
    left -= kGroup;
  }
  add_below<kGroup, kFlight>(totals, next, step, left);
  // Members that are shifted alike first, as above; then each of the rest puts its columns where they belong.
  join_members<kGroup, kAcross, kVector>(totals, sums);
  Value* const flat = &sums[0][0];
  if (member < kVector) {
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const int place = across * kVector + k - shift;
      if (place >= 0 && place < kColumns) flat[member * kColumns + place] = totals.values[k];
    }
  }
  __syncthreads();
  for (int place = static_cast<int>(threadIdx.x); place < kColumns && first + place < rows.count;
       place += kBlock) {
    Value total = flat[place];
#pragma unroll
    for (int k = 1; k < kVector; ++k) total = Op{}(total, flat[k * kColumns + place]);
    const long long row = first + place;
    write_result(out, parts, row, row * rows.strides[1][0], total, scale);
  }
}

}  // namespace gpuforge
