// What rms_norm and layer_norm begin with.
#pragma once

#include "gpuforge/kernels/row_group.cuh"

namespace gpuforge {

// The arrays of a norm in its Rows, as ops/norm_rows.h has them.
constexpr int kX = 0, kOut = 1, kResidual = 2, kResidualOut = 3, kWeight = 4, kBias = 5, kNormArrays = 6;

// The row that is normalised: x, or what x + residual is rounded to, which is written to residual_out as
// well.
template <typename T, int kVector, int kItems, int kThreads>
__device__ inline HeldRow<T, kVector, kItems, kThreads> norm_row(const T* x, const T* residual,
                                                                 T* residual_out,
                                                                 const Rows<kNormArrays>& rows,
                                                                 const RowOffsets<kNormArrays>& begin,
                                                                 long long length, int thread) {
  using Row = HeldRow<T, kVector, kItems, kThreads>;
  Row row(x + begin.at[kX], rows.axis_strides[kX], length, thread);
  if (residual == nullptr) return row;
  const Row added(residual + begin.at[kResidual], rows.axis_strides[kResidual], length, thread);
  T* const sums = residual_out + begin.at[kResidualOut];
  row.visit([&](RowPiece<kVector>& piece) {
    float other[kVector];
    added.read(other, piece);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i < piece.count) piece.values[i] += other[i];
    }
    write_row(sums, rows.axis_strides[kResidualOut], piece);
    row.keep(piece);
  });
  if constexpr (kItems == 0) return Row(sums, rows.axis_strides[kResidualOut], length, thread);
  return row;
}

// For the naive kernels: one element of that row.
template <typename T>
__device__ inline float norm_element(const T* x, const T* residual, const Rows<kNormArrays>& rows,
                                     const RowOffsets<kNormArrays>& begin, long long at) {
  const float value = static_cast<float>(x[begin.at[kX] + at * rows.axis_strides[kX]]);
  if (residual == nullptr) return value;
  return static_cast<float>(
      T(value + static_cast<float>(residual[begin.at[kResidual] + at * rows.axis_strides[kResidual]])));
}

}  // namespace gpuforge
