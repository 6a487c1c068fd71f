// out = x / sqrt(mean(x^2) + eps) * weight along the rows of views of any strides, x being x + residual where
// there is one. Rows that are held are read once and written once: 2 * sizeof(T) bytes an element (4 with a
// residual) and the weight once for all; streamed ones are read twice. 4 operations an element, in float.
#include "gpuforge/kernels/norm_rows.cuh"

namespace gpuforge {

// A thread a row, twice over it.
template <typename T>
__global__ void __launch_bounds__(128)
    rms_norm_naive(T* out, const T* x, const T* weight, const T* residual, T* residual_out, float eps,
                   const __grid_constant__ Rows<kNormArrays> rows) {
  const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows.count) return;
  const RowOffsets<kNormArrays> begin = row_offsets(rows, row);
  float squares = 0;
  for (long long i = 0; i < rows.length; ++i) {
    const float value = norm_element(x, residual, rows, begin, i);
    squares += value * value;
  }
  const float scale = 1.0f / sqrtf(squares / static_cast<float>(rows.length) + eps);
  for (long long i = 0; i < rows.length; ++i) {
    const float value = norm_element(x, residual, rows, begin, i);
    if (residual != nullptr)
      residual_out[begin.at[kResidualOut] + i * rows.axis_strides[kResidualOut]] = T(value);
    const float factor =
        weight == nullptr ? 1.0f : static_cast<float>(weight[i * rows.axis_strides[kWeight]]);
    out[begin.at[kOut] + i * rows.axis_strides[kOut]] = T(value * scale * factor);
  }
}

// The last visit of a row, with a weight that begins kShift elements past the begin of an access, or the next
// smaller kShift that is its.
template <int kShift, int kVector, typename Row, typename T, typename Weights>
__device__ inline void write_scaled(Row& row, T* to, long long stride, float scale, Weights& factors,
                                    int shift) {
  if (kShift == kAnyShift || shift == kShift) {
    row.visit([&](RowPiece<kVector>& piece) {
      float factor[kVector];
      factors.template get<kShift>(factor, piece, row.places);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        if (i < piece.count) piece.values[i] *= scale * factor[i];
      }
      write_row(to, stride, piece);
    });
  } else if constexpr (kShift != kAnyShift) {
    write_scaled<kShift - 1, kVector>(row, to, stride, scale, factors, shift);
  }
}

// kThreads threads a row, of each of kCluster blocks.
template <typename T, int kVector, int kItems, int kThreads, int kRows, bool kColumns, int kForm, int kHas,
          int kCluster = 1>
__global__ void __launch_bounds__(
    kThreads* kRows,
    kNormBlocks<T, kVector, kItems, kThreads * kRows, kForm, (kHas & kHasResidual) != 0, kCluster>)
    rms_norm(T* out, const T* x, const T* weight, const T* residual, T* residual_out, float eps,
             const __grid_constant__ typename RowsOf<kNormArrays, kForm>::Type rows) {
  constexpr bool kAdds = (kHas & kHasResidual) != 0;
  using Group = RowGroup<kThreads, kRows, kColumns, kCluster>;
  __shared__ typename Group::template Slots<float> slots;
  Group::begin(slots);
  const bool present = Group::present(rows.count);
  begin_after_previous_kernel();
  const RowOffsets<kNormArrays> begin = row_offsets(rows, present ? Group::row() : 0);
  // In f32 that saves up to 1 % of the time; in 16 bits, which compute more, and with a residual it does not.
  constexpr bool kInPassing = sizeof(T) == 4 && !kAdds && kForm == kWholeRows;
  using Row = HeldRow<T, kVector, kItems, Group::kTeam, kForm, 4, kInPassing>;
  const typename Row::Places places(x + begin.at[kX], present ? rows.length : 0, Group::thread());
  constexpr int kWhen = (kHas & kHasWeight) == 0          ? kAbsent
                        : kFewBytes<T, kItems, kForm, 32> ? kWithRow
                                                          : kWhenWanted;
  WeightRow<T, kVector, kForm, kItems, kWhen> factors(weight, axis_stride(rows, kWeight), rows.length, 1.0f,
                                                      places);
  Row row = norm_row<kAdds, Row, Group, kVector>(x, residual, residual_out, rows, begin, places);
  factors.begin(places);
  const float inverse_length = reciprocal(static_cast<float>(rows.length));
  float squares = 0;
  row.visit([&](const RowPiece<kVector>& piece) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i < piece.count) squares += piece.values[i] * piece.values[i];
    }
  });
  Group::meet();
  squares = Group::reduce(squares, Sum{}, slots);
  const float scale = inverse_root(squares * inverse_length + eps);
  write_scaled<factors.kShifts - 1, kVector>(row, out + begin.at[kOut], axis_stride(rows, kOut), scale,
                                             factors, factors.shift());
}

}  // namespace gpuforge
