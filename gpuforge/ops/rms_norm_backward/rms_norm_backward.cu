// With r = 1 / sqrt(mean(x^2) + eps) for each row of views of any strides:
//   dx = r * (dy * weight - x * r^2 * mean(dy * weight * x)),   dweight = sum over the rows of dy * x * r.
// dx: 3 * sizeof(T) bytes an element where the rows are held, 10 operations, in float. dweight reads dy and x
// again, in pieces of rows, and adds the pieces up: 3 operations an element.
#include "gpuforge/kernels/approximate.cuh"
#include "gpuforge/kernels/held_row.cuh"
#include "gpuforge/kernels/row_group.cuh"
#include "gpuforge/kernels/weight_row.cuh"

namespace gpuforge {

// The arrays in Rows, as rms_norm_backward_kernels.h has them.
constexpr int kX = 0, kDy = 1, kDx = 2, kWeight = 3, kArrays = 4;

// A thread a row, twice over it. `scales`: r of each row, for dweight; may be nullptr.
template <typename T>
__global__ void __launch_bounds__(128)
    rms_backward_naive(T* dx, float* scales, const T* dy, const T* x, const T* weight, float eps,
                       const __grid_constant__ Rows<kArrays> rows) {
  const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows.count) return;
  const RowOffsets<kArrays> begin = row_offsets(rows, row);
  const float length = static_cast<float>(rows.length);
  float squares = 0, products = 0;
  for (long long i = 0; i < rows.length; ++i) {
    const float value = static_cast<float>(x[begin.at[kX] + i * rows.axis_strides[kX]]);
    float gradient = static_cast<float>(dy[begin.at[kDy] + i * rows.axis_strides[kDy]]);
    if (weight != nullptr) gradient *= static_cast<float>(weight[i * rows.axis_strides[kWeight]]);
    squares += value * value;
    products += gradient * value;
  }
  const float scale = 1.0f / sqrtf(squares / length + eps);
  const float slope = scale * scale * (products / length);
  for (long long i = 0; i < rows.length; ++i) {
    const float value = static_cast<float>(x[begin.at[kX] + i * rows.axis_strides[kX]]);
    float gradient = static_cast<float>(dy[begin.at[kDy] + i * rows.axis_strides[kDy]]);
    if (weight != nullptr) gradient *= static_cast<float>(weight[i * rows.axis_strides[kWeight]]);
    dx[begin.at[kDx] + i * rows.axis_strides[kDx]] = T(scale * (gradient - value * slope));
  }
  if (scales != nullptr) scales[row] = scale;
}

// dy * weight of a piece of the row, with a weight as WeightRow::get<kShift>() has it.
template <int kShift, int kVector, typename Row, typename Weights>
__device__ inline void read_weighted(float (&gradients)[kVector], const RowPiece<kVector>& piece,
                                     const Row& dy_row, Weights& factors) {
  float factor[kVector];
  dy_row.read(gradients, piece);
  factors.template get<kShift>(factor, piece, dy_row.places);
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    if (i < piece.count) gradients[i] *= factor[i];
  }
}

// This thread's part of the sums of x^2 and of dy * weight * x, with a weight that begins kShift elements
// past the begin of an access, or the next smaller kShift that is its.
template <int kShift, int kVector, typename Row, typename Weights>
__device__ inline void add_products(FloatPair& sums, Row& x_row, const Row& dy_row, Weights& factors,
                                    int shift) {
  if (kShift == kAnyShift || shift == kShift) {
    x_row.visit([&](const RowPiece<kVector>& piece) {
      float gradients[kVector];
      read_weighted<kShift>(gradients, piece, dy_row, factors);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        if (i >= piece.count) continue;
        sums.first += piece.values[i] * piece.values[i];
        sums.second += gradients[i] * piece.values[i];
      }
    });
  } else if constexpr (kShift != kAnyShift) {
    add_products<kShift - 1, kVector>(sums, x_row, dy_row, factors, shift);
  }
}
template <int kShift, int kVector, typename T, typename Row, typename Weights>
__device__ inline void write_gradients(T* to, long long stride, float scale, float slope, Row& x_row,
                                       const Row& dy_row, Weights& factors, int shift) {
  if (kShift == kAnyShift || shift == kShift) {
    x_row.visit([&](RowPiece<kVector>& piece) {
      float gradients[kVector];
      read_weighted<kShift>(gradients, piece, dy_row, factors);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        if (i < piece.count) piece.values[i] = scale * (gradients[i] - piece.values[i] * slope);
      }
      write_row(to, stride, piece);
    });
  } else if constexpr (kShift != kAnyShift) {
    write_gradients<kShift - 1, kVector>(to, stride, scale, slope, x_row, dy_row, factors, shift);
  }
}

// kThreads threads a row. kWeighted: there is a weight.
template <typename T, int kVector, int kItems, int kThreads, int kRows, bool kColumns, int kForm,
          bool kWeighted>
__global__ void __launch_bounds__(kThreads* kRows)
    rms_backward(T* dx, float* scales, const T* dy, const T* x, const T* weight, float eps,
                 const __grid_constant__ typename RowsOf<kArrays, kForm>::Type rows) {
  using Group = RowGroup<kThreads, kRows, kColumns>;
  using Row = HeldRow<T, kVector, kItems, kThreads, kForm, 2>;  // of three arrays: no spills
  __shared__ typename Group::template Slots<FloatPair> slots;
  const bool present = Group::present(rows.count);
  const long long present_length = present ? rows.length : 0;
  begin_after_previous_kernel();
  const RowOffsets<kArrays> begin = row_offsets(rows, present ? Group::row() : 0);
  Row x_row(x + begin.at[kX], axis_stride(rows, kX), present_length, Group::thread());
  const Row dy_row(dy + begin.at[kDy], axis_stride(rows, kDy), x_row.places);
  WeightRow<T, kVector, kForm, kItems, kWeighted ? kWhenWanted : kAbsent> factors(
      weight, axis_stride(rows, kWeight), rows.length, 1.0f, x_row.places);
  factors.begin(x_row.places);

  FloatPair sums{0.0f, 0.0f};
  add_products<factors.kShifts - 1, kVector>(sums, x_row, dy_row, factors, factors.shift());
  sums = Group::reduce(sums, Both<Sum, Sum>{}, slots);
  const float inverse_length = reciprocal(static_cast<float>(rows.length));
  const float scale = inverse_root(sums.first * inverse_length + eps);
  const float slope = scale * scale * (sums.second * inverse_length);
  write_gradients<factors.kShifts - 1, kVector>(dx + begin.at[kDx], axis_stride(rows, kDx), scale, slope,
                                                x_row, dy_row, factors, factors.shift());
  if (scales != nullptr && present && Group::thread() == 0) scales[Group::row()] = scale;
}

// partials[piece, column] = the sum of dy * x * r over rows piece * rows_a_piece and on. A block has kAcross
// columns of one piece, each by kAlong threads; grid: (column blocks, pieces).
template <typename T, int kAcross, int kAlong>
__global__ void __launch_bounds__(kAcross* kAlong)
    rms_backward_partials(float* partials, const float* scales, const T* dy, const T* x,
                          long long rows_a_piece, const __grid_constant__ Rows<kArrays> rows) {
  begin_after_previous_kernel();
  __shared__ float sums[kAlong][kAcross];
  const long long column = static_cast<long long>(blockIdx.x) * kAcross + threadIdx.x;
  const long long first = blockIdx.y * rows_a_piece;
  const long long end = first + rows_a_piece < rows.count ? first + rows_a_piece : rows.count;
  float sum = 0;
  if (column < rows.length) {
    for (long long row = first + threadIdx.y; row < end; row += kAlong) {
      const RowOffsets<kArrays> begin = row_offsets(rows, row);
      const float value = static_cast<float>(x[begin.at[kX] + column * rows.axis_strides[kX]]);
      const float gradient = static_cast<float>(dy[begin.at[kDy] + column * rows.axis_strides[kDy]]);
      sum += gradient * (value * scales[row]);
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= rows.length) return;
  for (int i = 1; i < kAlong; ++i) sum += sums[i][threadIdx.x];
  partials[blockIdx.y * rows.length + column] = sum;
}

template <typename T>
__global__ void __launch_bounds__(128)
    rms_backward_weight(T* dweight, long long stride, const float* partials, long long pieces,
                        long long length) {
  begin_after_previous_kernel();
  const long long column = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column >= length) return;
  float sum = 0;
  for (long long piece = 0; piece < pieces; ++piece) sum += partials[piece * length + column];
  dweight[column * stride] = T(sum);
}

}  // namespace gpuforge
