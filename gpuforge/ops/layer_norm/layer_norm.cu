// out = (x - mean) / sqrt(variance + eps) * weight + bias along the rows of views of any strides, x being x +
// residual where there is one. The variance is that of x - mean, of the copy on chip: rows that are held are
// read once and written once, 2 * sizeof(T) bytes an element (4 with a residual) and weight and bias once for
// all; streamed ones are read three times. 8 operations an element, in float.
#include "gpuforge/ops/rms_norm/residual.cuh"

namespace gpuforge {

// A thread a row, three times over it.
template <typename T>
__global__ void __launch_bounds__(128)
    layer_norm_naive(T* out, const T* x, const T* weight, const T* bias, const T* residual, T* residual_out,
                     float eps, const __grid_constant__ Rows<kNormArrays> rows) {
  const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows.count) return;
  const RowOffsets<kNormArrays> begin = row_offsets(rows, row);
  const float length = static_cast<float>(rows.length);
  float sum = 0;
  for (long long i = 0; i < rows.length; ++i) sum += norm_element(x, residual, rows, begin, i);
  const float mean = sum / length;
  float squares = 0;
  for (long long i = 0; i < rows.length; ++i) {
    const float centred = norm_element(x, residual, rows, begin, i) - mean;
    squares += centred * centred;
  }
  const float scale = 1.0f / sqrtf(squares / length + eps);
  for (long long i = 0; i < rows.length; ++i) {
    const float value = norm_element(x, residual, rows, begin, i);
    if (residual != nullptr)
      residual_out[begin.at[kResidualOut] + i * rows.axis_strides[kResidualOut]] = T(value);
    const float factor =
        weight == nullptr ? 1.0f : static_cast<float>(weight[i * rows.axis_strides[kWeight]]);
    const float shift = bias == nullptr ? 0.0f : static_cast<float>(bias[i * rows.axis_strides[kBias]]);
    out[begin.at[kOut] + i * rows.axis_strides[kOut]] = T((value - mean) * scale * factor + shift);
  }
}

template <typename T, int kVector, int kItems, int kThreads, int kRows, bool kColumns, int kForm, bool kAdds>
__global__ void __launch_bounds__(kThreads* kRows,
                                  kNormBlocks<T, kVector, kItems, kThreads * kRows, kForm, kAdds>)
    layer_norm(T* out, const T* x, const T* weight, const T* bias, const T* residual, T* residual_out,
               float eps, const __grid_constant__ typename RowsOf<kNormArrays, kForm>::Type rows) {
  using Group = RowGroup<kThreads, kRows, kColumns>;
  __shared__ typename Group::template Slots<float> sum_slots, square_slots;
  const bool present = Group::present(rows.count);
  begin_after_previous_kernel();
  const RowOffsets<kNormArrays> begin = row_offsets(rows, present ? Group::row() : 0);
  using Row = HeldRow<T, kVector, kItems, kThreads, kForm, (kAdds && kThreads > 512 ? 2 : 4)>;  // no spills
  const typename Row::Places places(x + begin.at[kX], present ? rows.length : 0, Group::thread());
  const WeightRow<T, kVector, kItems, kThreads> factors(weight, axis_stride(rows, kWeight), places);
  const WeightRow<T, kVector, kItems, kThreads> shifts(bias, axis_stride(rows, kBias), places);
  Row row = norm_row<kAdds, Row, kVector>(x, residual, residual_out, rows, begin, places);
  float sum = 0;
  row.visit([&](const RowPiece<kVector>& piece) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i < piece.count) sum += piece.values[i];
    }
  });
  // Exactly: equal numbers have no variance.
  const float mean = Group::reduce(sum, Sum{}, sum_slots) / static_cast<float>(rows.length);
  float squares = 0;
  row.visit([&](const RowPiece<kVector>& piece) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i < piece.count) squares += (piece.values[i] - mean) * (piece.values[i] - mean);
    }
  });
  const float scale = inverse_root(
      Group::reduce(squares, Sum{}, square_slots) * reciprocal(static_cast<float>(rows.length)) + eps);
  T* const to = out + begin.at[kOut];
  row.visit([&](RowPiece<kVector>& piece) {
    const WeightPiece<T, kVector> factor = factors.at(piece), shift = shifts.at(piece);
    float values[kVector];
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i < piece.count) piece.values[i] = (piece.values[i] - mean) * scale;
    }
    if (weight != nullptr) {
      factor.get(values, piece);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        if (i < piece.count) piece.values[i] *= values[i];
      }
    }
    if (bias != nullptr) {
      shift.get(values, piece);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        if (i < piece.count) piece.values[i] += values[i];
      }
    }
    write_row(to, axis_stride(rows, kOut), piece);
  });
}

}  // namespace gpuforge
