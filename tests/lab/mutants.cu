// Right kernels, and kernels that each have one mistake, with the mistake in its name. mutants_test.cpp says
// which sentence of `check` must catch it.
#include "gpuforge/kernels/half.cuh"

namespace mutants {

using gpuforge::half_t;

// ---- y = 2 x + 1; a thread an element, blocks of 128 ----

__device__ inline int element() {
  return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

template <typename T>
__device__ T formula(T x) {
  return T(2 * static_cast<float>(x) + 1);
}

template <typename T>
__global__ void affine_right(T* y, T* x, int n) {
  const int i = element();
  if (i < n) y[i] = formula(x[i]);
}

template <typename T>
__global__ void affine_writes_zeros(T* y, T*, int n) {
  const int i = element();
  if (i < n) y[i] = T(0.0f);
}

template <typename T>
__global__ void affine_copies_its_input(T* y, T* x, int n) {
  const int i = element();
  if (i < n) y[i] = x[i];
}

template <typename T>
__global__ void affine_leaves_a_tail(T* y, T* x, int n) {
  const int i = element();
  if (i < n / 128 * 128) y[i] = formula(x[i]);
}

template <typename T>
__global__ void affine_writes_past_the_end(T* y, T* x, int n) {
  const int i = element();
  if (i <= n) y[i] = formula(x[i < n ? i : 0]);
}

template <typename T>
__global__ void affine_reads_past_the_end(T* y, T* x, int n) {
  const int i = element();
  if (i < n) y[i] = T(static_cast<float>(formula(x[i])) + 0 * static_cast<float>(x[i + 1]));
}

template <typename T>
__global__ void affine_adds_to_what_was_there(T* y, T* x, int n) {
  const int i = element();
  if (i < n) y[i] = T(static_cast<float>(y[i]) + static_cast<float>(formula(x[i])));
}

template <typename T>
__global__ void affine_changes_its_input(T* y, T* x, int n) {
  const int i = element();
  if (i >= n) return;
  y[i] = formula(x[i]);
  x[i] = y[i];
}

__device__ unsigned launched_threads;

// Half of the elements, others in each run, are an ulp off: right by any tolerance.
template <typename T>
__global__ void affine_remembers_its_last_run(T* y, T* x, int n) {
  const int i = element();
  if (i >= n) return;
  const unsigned before = atomicAdd(&launched_threads, 1);
  y[i] = formula(x[i]);
  if (sizeof(T) == 4 && before % 2 == 1) *reinterpret_cast<unsigned*>(y + i) ^= 1;
}

// ---- out[r] = sum of x[r, :]; a block of 128 a row ----

constexpr int kThreads = 128;

template <typename Sum, typename T>
__device__ Sum thread_sum(const T* row, int n) {
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < n; i += kThreads) {
    sum = static_cast<float>(Sum(sum + static_cast<float>(row[i])));
  }
  return Sum(sum);
}

template <typename Sum>
__device__ float block_sum(Sum mine) {
  __shared__ Sum sums[kThreads];
  sums[threadIdx.x] = mine;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      sums[threadIdx.x] =
          Sum(static_cast<float>(sums[threadIdx.x]) + static_cast<float>(sums[threadIdx.x + half]));
    }
    __syncthreads();
  }
  return static_cast<float>(sums[0]);
}

template <typename T>
__global__ void row_sum_right(T* out, T* x, int n) {
  const float sum = block_sum(thread_sum<float>(x + static_cast<long long>(blockIdx.x) * n, n));
  if (threadIdx.x == 0) out[blockIdx.x] = T(sum);
}

template <typename T>
__global__ void row_sum_ends_one_early(T* out, T* x, int n) {
  const float sum = block_sum(thread_sum<float>(x + static_cast<long long>(blockIdx.x) * n, n - 1));
  if (threadIdx.x == 0) out[blockIdx.x] = T(sum);
}

template <typename T>
__global__ void row_sum_keeps_its_sum_in_half(T* out, T* x, int n) {
  const float sum = block_sum(thread_sum<half_t>(x + static_cast<long long>(blockIdx.x) * n, n));
  if (threadIdx.x == 0) out[blockIdx.x] = T(sum);
}

template <typename T>
__global__ void row_sum_lacks_a_barrier(T* out, T* x, int n) {
  __shared__ float sums[kThreads];
  sums[threadIdx.x] = thread_sum<float>(x + static_cast<long long>(blockIdx.x) * n, n);
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 64) out[blockIdx.x] = T(sums[0]);  // written by another thread
}

template <typename T>
__global__ void row_sum_adds_without_atomics(T* out, T* x, int n) {
  if (threadIdx.x == 0) out[blockIdx.x] = T(0.0f);
  __syncthreads();
  const float mine = thread_sum<float>(x + static_cast<long long>(blockIdx.x) * n, n);
  out[blockIdx.x] = T(static_cast<float>(out[blockIdx.x]) + mine);
}

template <typename T>
__global__ void row_sum_reads_what_nobody_wrote(T* out, T* x, int n) {
  __shared__ float sums[kThreads];
  const float mine = thread_sum<float>(x + static_cast<long long>(blockIdx.x) * n, n);
  if (threadIdx.x < n) sums[threadIdx.x] = mine;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < kThreads; ++i) sum += sums[i];
  if (threadIdx.x == 0) out[blockIdx.x] = T(sum);
}

// Warps add to the result as they come. The output is zero before.
template <typename T>
__global__ void row_sum_adds_in_any_order(T* out, T* x, int n) {
  static_assert(sizeof(T) == 4);
  atomicAdd(out + blockIdx.x, thread_sum<float>(x + static_cast<long long>(blockIdx.x) * n, n));
}

// ---- out[j, i] = x[i, j]; blocks of 16 x 16 ----

template <typename T, bool kBarrier, bool kRightEdge>
__device__ void transpose(T* out, const T* x, int rows, int columns) {
  __shared__ T tile[16][17];
  const int across = (columns + 15) / 16;
  const int row = static_cast<int>(blockIdx.x) / across * 16;
  const int column = static_cast<int>(blockIdx.x) % across * 16;
  const int tx = static_cast<int>(threadIdx.x);
  const int ty = static_cast<int>(threadIdx.y);
  if (row + ty < rows && column + tx < columns) tile[ty][tx] = x[(row + ty) * columns + column + tx];
  if (kBarrier) __syncthreads();
  const int last = kRightEdge ? columns : columns / 16 * 16;
  if (row + tx < rows && column + ty < last) out[(column + ty) * rows + row + tx] = tile[tx][ty];
}

template <typename T>
__global__ void transpose_right(T* out, T* x, int rows, int columns) {
  transpose<T, true, true>(out, x, rows, columns);
}
template <typename T>
__global__ void transpose_forgets_the_edge(T* out, T* x, int rows, int columns) {
  transpose<T, true, false>(out, x, rows, columns);
}
template <typename T>
__global__ void transpose_lacks_a_barrier(T* out, T* x, int rows, int columns) {
  transpose<T, false, true>(out, x, rows, columns);
}

}  // namespace mutants
