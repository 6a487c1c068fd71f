// out[r] = x[r, 0] op x[r, 1] op ... over one axis of views of any strides, op being Sum, Max, Min or
// Product; mean scales the sum. Reads every element once, sizeof(T) bytes and one operation each,
// and writes one element a row. Computed in float. No thread takes more than kPiece values one after the
// other before it folds them into its total, so that the error of a long sum grows with its length over
// kPiece.
#include "gpuforge/kernels/stream_order.cuh"
#include "gpuforge/kernels/unit_rows.cuh"
#include "gpuforge/ops/reduce/columns.cuh"
#include "gpuforge/ops/reduce/lanes.cuh"

namespace gpuforge {

// Launch bounds name one block: unasked, ptxas saves registers for more of them and puts half of the loads
// that should be under way at once behind the first additions.

// Rows of neighbours that kGroup threads have in kLoads loads each, kRows of them one after the other:
// nothing is waited for before all loads are under way. Every row begins aligned and is of whole vectors.
template <typename T, typename Op, int kBlock, int kGroup, int kVector, int kLoads, int kRows>
__global__ void __launch_bounds__(kBlock, 1)
    reduce_short(T* out, const T* x, const __grid_constant__ UnitRows<2> rows, float scale) {
  using Value = typename Accumulated<Op>::Value;
  constexpr int kSide = kBlock / kGroup;
  const int member = static_cast<int>(threadIdx.x) % kGroup;
  const int vectors = static_cast<int>(rows.length) / kVector;
  const long long first = static_cast<long long>(blockIdx.x) * (kSide * kRows) + threadIdx.x / kGroup;
  begin_after_previous_kernel();
  Packed<T, kVector> loaded[kRows][kLoads];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const T* const row = x + least(first + r * kSide, rows.count - 1) * rows.strides[0] + member * kVector;
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if (member + k * kGroup < vectors)
        loaded[r][k] = Packed<T, kVector>::load(row + k * (kGroup * kVector));
    }
  }
  Value totals[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    Lanes<Op, kVector> lanes;
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if (member + k * kGroup < vectors) lanes.add(loaded[r][k]);
    }
    totals[r] = lanes.total();
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) totals[r] = warp_reduce<kGroup>(totals[r], Op{});
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const long long row = first + r * kSide;
    if (member == 0 && row < rows.count) out[row * rows.strides[1]] = T(float_of(totals[r]) * scale);
  }
}

// Rows of neighbours of any length: kGroup threads a row, kFlight loads of each under way at once. kAligned:
// every row begins aligned and is of whole vectors; else what stands before the first and behind the last of
// them is taken singly. A slice is `per_slice` vectors.
template <typename T, typename Op, typename RowsOf, int kBlock, int kGroup, int kVector, int kFlight,
          bool kAligned>
__global__ void __launch_bounds__(kBlock, 1)
    reduce_rows(T* out, typename Accumulated<Op>::Value* parts, const T* x,
                const __grid_constant__ RowsOf rows, int per_slice, float scale) {
  using Value = typename Accumulated<Op>::Value;
  constexpr int kStep = kGroup * kVector;
  __shared__ Value slots[kBlock / kWarp];
  const int member = static_cast<int>(threadIdx.x) % kGroup;
  const long long row = static_cast<long long>(blockIdx.x) * (kBlock / kGroup) + threadIdx.x / kGroup;
  const RowOffsets<2> at = row_offsets(rows, least(row, rows.count - 1));
  const T* const from = x + at.at[0];
  RowSplit split{0, rows.length / kVector, rows.length};
  if constexpr (!kAligned) split = split_row<kVector>(from, rows.length);

  const long long begin = static_cast<long long>(blockIdx.y) * per_slice;
  const T* next = from + split.head + (begin + member) * kVector;
  const long long vectors = least(split.vectors - begin, static_cast<long long>(per_slice));
  int left = vectors > 0 ? static_cast<int>(vectors) - member : 0;
  begin_after_previous_kernel();
  Value total = Op::identity();
  for (; left > 0; left -= kPiece * kGroup) {
    Lanes<Op, kVector> lanes;
    int piece = least(left, kPiece * kGroup);
    for (; piece > (kFlight - 1) * kGroup; piece -= kFlight * kGroup, next += kFlight * kStep) {
      Packed<T, kVector> loaded[kFlight];
#pragma unroll
      for (int k = 0; k < kFlight; ++k) loaded[k] = Packed<T, kVector>::load(next + k * kStep);
#pragma unroll
      for (int k = 0; k < kFlight; ++k) lanes.add(loaded[k]);
    }
    Packed<T, kVector> loaded[kFlight];
#pragma unroll
    for (int k = 0; k < kFlight - 1; ++k) {
      if (k * kGroup < piece) loaded[k] = Packed<T, kVector>::load(next + k * kStep);
    }
#pragma unroll
    for (int k = 0; k < kFlight - 1; ++k) {
      if (k * kGroup < piece) lanes.add(loaded[k]);
    }
    total = Op{}(total, lanes.total());
  }
  if constexpr (!kAligned) {
    if (blockIdx.y == 0) {
      for (int e = member; e < split.head; e += kGroup) total = Op{}(total, static_cast<float>(from[e]));
    }
    if (blockIdx.y == gridDim.y - 1) {
      for (long long e = split.tail + member; e < rows.length; e += kGroup)
        total = Op{}(total, static_cast<float>(from[e]));
    }
  }
  total = group_reduce<kGroup>(total, Op{}, slots);
  if (row < rows.count && member == 0) write_result(out, parts, row, at.at[1], total, scale);
}

// Rows whose elements are apart from each other and from those of other rows. A slice is `per_slice`
// elements.
template <typename T, typename Op, int kBlock, int kGroup, int kFlight>
__global__ void __launch_bounds__(kBlock, 1)
    reduce_strided(T* out, typename Accumulated<Op>::Value* parts, const T* x,
                   const __grid_constant__ Rows<2> rows, int per_slice, float scale) {
  using Value = typename Accumulated<Op>::Value;
  __shared__ Value slots[kBlock / kWarp];
  const int member = static_cast<int>(threadIdx.x) % kGroup;
  const long long row = static_cast<long long>(blockIdx.x) * (kBlock / kGroup) + threadIdx.x / kGroup;
  const RowOffsets<2> at = row_offsets(rows, least(row, rows.count - 1));
  const Slice slice = slice_of(rows.length, per_slice);
  const long long stride = rows.axis_strides[0];
  begin_after_previous_kernel();
  Value total = Op::identity();
  for (long long begin = slice.begin; begin < slice.end; begin += kPiece * kGroup) {
    Lanes<Op, 1> piece;
    visit_strided<kFlight>(x + at.at[0] + begin * stride, stride,
                           least(static_cast<long long>(kPiece) * kGroup, slice.end - begin), member, kGroup,
                           piece);
    total = Op{}(total, piece.total());
  }
  total = group_reduce<kGroup>(total, Op{}, slots);
  if (row < rows.count && member == 0) write_result(out, parts, row, at.at[1], total, scale);
}

// The second stage, when rows were split over blocks: a warp a row puts the parts together.
template <typename T, typename Op, int kBlock>
__global__ void __launch_bounds__(kBlock, 1)
    reduce_parts(T* out, const typename Accumulated<Op>::Value* parts, int splits,
                 const __grid_constant__ Rows<2> rows, float scale) {
  using Value = typename Accumulated<Op>::Value;
  constexpr int kRows = kBlock / kWarp;
  begin_after_previous_kernel();
  for (long long first = static_cast<long long>(blockIdx.x) * kRows; first < rows.count;
       first += static_cast<long long>(gridDim.x) * kRows) {
    const long long row = first + threadIdx.x / kWarp;
    Value total = Op::identity();
    if (row < rows.count) {
      for (int s = threadIdx.x % kWarp; s < splits; s += kWarp) total = Op{}(total, parts[row * splits + s]);
    }
    total = warp_reduce<kWarp>(total, Op{});
    if (row < rows.count && threadIdx.x % kWarp == 0)
      out[row_offsets(rows, row).at[1]] = T(float_of(total) * scale);
  }
}

// A thread a row, an element after the other.
template <typename T, typename Op>
__global__ void __launch_bounds__(256)
    reduce_naive(T* out, const T* x, const __grid_constant__ Rows<2> rows, float scale) {
  using Value = typename Accumulated<Op>::Value;
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; row < rows.count;
       row += step) {
    const RowOffsets<2> at = row_offsets(rows, row);
    Value total = Op::identity();
    for (long long begin = 0; begin < rows.length; begin += kPiece) {
      Value piece = Op::identity();
      for (long long i = begin; i < least(begin + kPiece, rows.length); ++i)
        piece = Op{}(piece, static_cast<float>(x[at.at[0] + i * rows.axis_strides[0]]));
      total = Op{}(total, piece);
    }
    out[at.at[1]] = T(float_of(total) * scale);
  }
}

}  // namespace gpuforge
