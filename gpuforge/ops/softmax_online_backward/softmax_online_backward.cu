// dx = y * (dy - sum(dy * y)), the sum along the rows of views of any strides. Rows that are held are read
// once: 3 * sizeof(T) bytes an element, 4 operations, in float; streamed ones are read twice.
#include "gpuforge/kernels/row_group.cuh"

namespace gpuforge {

// A thread a row, twice over it.
template <typename T>
__global__ void __launch_bounds__(128)
    softmax_backward_naive(T* dx, const T* dy, const T* y, const __grid_constant__ Rows<3> rows) {
  const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows.count) return;
  const RowOffsets<3> begin = row_offsets(rows, row);
  const T* const y_row = y + begin.at[0];
  const T* const dy_row = dy + begin.at[1];
  T* const dx_row = dx + begin.at[2];
  float sum = 0;
  for (long long i = 0; i < rows.length; ++i) {
    sum += static_cast<float>(dy_row[i * rows.axis_strides[1]]) *
           static_cast<float>(y_row[i * rows.axis_strides[0]]);
  }
  for (long long i = 0; i < rows.length; ++i) {
    const float factor = static_cast<float>(y_row[i * rows.axis_strides[0]]);
    dx_row[i * rows.axis_strides[2]] =
        T(factor * (static_cast<float>(dy_row[i * rows.axis_strides[1]]) - sum));
  }
}

template <typename T, int kVector, int kItems, int kThreads, int kRows, bool kColumns>
__global__ void __launch_bounds__(kThreads* kRows)
    softmax_backward(T* dx, const T* dy, const T* y, const __grid_constant__ Rows<3> rows) {
  using Group = RowGroup<kThreads, kRows, kColumns>;
  using Row = HeldRow<T, kVector, kItems, kThreads>;
  __shared__ float slots[Group::kSlots];
  const bool present = Group::row() < rows.count;
  const long long length = present ? rows.length : 0;
  const RowOffsets<3> begin = row_offsets(rows, present ? Group::row() : 0);
  Row y_row(y + begin.at[0], rows.axis_strides[0], length, Group::thread());
  const Row dy_row(dy + begin.at[1], rows.axis_strides[1], length, Group::thread());

  float sum = 0;
  y_row.visit([&](const RowPiece<kVector>& piece) {
    float gradients[kVector];
    dy_row.read(gradients, piece);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i < piece.count) sum += gradients[i] * piece.values[i];
    }
  });
  sum = Group::reduce(sum, Sum{}, slots);
  T* const to = dx + begin.at[2];
  y_row.visit([&](RowPiece<kVector>& piece) {
    float gradients[kVector];
    dy_row.read(gradients, piece);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i < piece.count) piece.values[i] *= gradients[i] - sum;
    }
    write_row(to, rows.axis_strides[2], piece);
  });
}

}  // namespace gpuforge
