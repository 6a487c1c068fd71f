// out[r] = x[r, 0] + x[r, 1] + ... over one axis of views of any strides: three ways to do it, each faster
// than the one before. Reads every element once, sizeof(T) bytes and one addition each, and writes one
// element a row. (The best variant is in ../reduce/reduce.cu.) All of them add in float, pieces of kPiece
// terms for themselves, so that the error of a long sum grows with its length over kPiece.
#include "gpuforge/kernels/group_reduce.cuh"

namespace gpuforge {

constexpr int kPiece = 128;

// Launch bounds name one block: unasked, ptxas makes room for two of 1024 threads, and spills.

// Elements thread, thread + threads, ... of a row. Four loads are on their way before the first is needed:
// waiting for memory is most of what these kernels do.
template <typename T>
__device__ inline float sum_of_thread(const T* row, long long stride, long long length, int thread,
                                      int threads) {
  const long long step = stride * threads;
  const T* at = row + thread * stride;
  long long left = length > thread ? (length - thread + threads - 1) / threads : 0;
  float total = 0;
  while (left > 0) {
    float piece = 0;
    int k = 0;
    for (; k < kPiece && left >= 4; k += 4, left -= 4, at += 4 * step) {
      const T a = at[0], b = at[step], c = at[2 * step], d = at[3 * step];
      piece +=
          (static_cast<float>(a) + static_cast<float>(b)) + (static_cast<float>(c) + static_cast<float>(d));
    }
    for (; k < kPiece && left > 0; ++k, --left, at += step) piece += static_cast<float>(*at);
    total += piece;
  }
  return total;
}

// A thread a row. Neighbouring threads read a row apart: of every 32 bytes that memory hands out, one element
// is used at a time.
template <typename T>
__global__ void __launch_bounds__(256) sum_naive(T* out, const T* x, const __grid_constant__ Rows<2> rows) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; row < rows.count;
       row += step) {
    const RowOffsets<2> at = row_offsets(rows, row);
    out[at.at[1]] = T(sum_of_thread(x + at.at[0], rows.axis_strides[0], rows.length, 0, 1));
  }
}

// A block a row: neighbouring threads read neighbours, and their sums meet in shared memory, where half of
// the threads add what the other half left, until one is left.
template <typename T, int kBlock>
__global__ void __launch_bounds__(kBlock, 1)
    sum_improved(T* out, const T* x, const __grid_constant__ Rows<2> rows) {
  __shared__ float sums[kBlock];
  const int thread = static_cast<int>(threadIdx.x);
  for (long long row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const RowOffsets<2> at = row_offsets(rows, row);
    sums[thread] = sum_of_thread(x + at.at[0], rows.axis_strides[0], rows.length, thread, kBlock);
    __syncthreads();
    for (int half = kBlock / 2; half > 0; half /= 2) {
      if (thread < half) sums[thread] += sums[thread + half];
      __syncthreads();
    }
    if (thread == 0) out[at.at[1]] = T(sums[0]);
    __syncthreads();
  }
}

// A block a row: warps add up through registers, and only one number of each goes through shared memory, with
// one barrier in place of ten.
template <typename T, int kBlock>
__global__ void __launch_bounds__(kBlock, 1)
    sum_shuffle(T* out, const T* x, const __grid_constant__ Rows<2> rows) {
  __shared__ float slots[kBlock / kWarp];
  const int thread = static_cast<int>(threadIdx.x);
  for (long long row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const RowOffsets<2> at = row_offsets(rows, row);
    const float sum = sum_of_thread(x + at.at[0], rows.axis_strides[0], rows.length, thread, kBlock);
    const float total = group_reduce<kBlock>(sum, Sum{}, slots);
    if (thread == 0) out[at.at[1]] = T(total);
  }
}

}  // namespace gpuforge
