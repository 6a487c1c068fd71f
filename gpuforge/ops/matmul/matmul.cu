// out[b, m, n] = sum over k of a[b, m, k] * b[b, k, n], for views of any strides. 2 m n k operations a batch;
// matmul_tiled reads every element of a n / kTile times and of b m / kTile times. Tiles of both go through
// shared memory as accumulators; a thread of 16 x 16 has a square of kTile / 16 results, 16 apart, so that
// neighbours in a warp are neighbours in shared memory and in the output.
#include "gpuforge/kernels/element.cuh"

namespace gpuforge {

constexpr int kMaxBatchRank = 14;
constexpr int kEdge = 16;  // threads along each side of a block

struct MatmulShape {
  long long m, n, k;
  long long batches;
  // Row and column strides of out, a and b, in elements.
  long long rows[3];
  long long columns[3];
  long long extents[kMaxBatchRank];
  long long strides[3][kMaxBatchRank];
  int rank;
};

struct BatchOffsets {
  long long at[3];
};
__device__ inline BatchOffsets batch_offsets(const MatmulShape& shape, long long batch) {
  BatchOffsets offsets{{0, 0, 0}};
  for (int d = shape.rank - 1; d >= 0; --d) {
    const long long outer = batch / shape.extents[d];
    const long long at = batch - outer * shape.extents[d];
    for (int i = 0; i < 3; ++i) offsets.at[i] += at * shape.strides[i][d];
    batch = outer;
  }
  return offsets;
}

// Integers wrap.
template <typename A>
struct Accumulate {
  __device__ static A of(A sum, A a, A b) { return sum + a * b; }
};
template <>
struct Accumulate<int> {
  __device__ static int of(int sum, int a, int b) {
    return static_cast<int>(static_cast<unsigned>(sum) + static_cast<unsigned>(a) * static_cast<unsigned>(b));
  }
};
template <>
struct Accumulate<long long> {
  __device__ static long long of(long long sum, long long a, long long b) {
    using Bits = unsigned long long;
    return static_cast<long long>(static_cast<Bits>(sum) + static_cast<Bits>(a) * static_cast<Bits>(b));
  }
};

// One thread an element.
template <typename T, typename A>
__global__ void __launch_bounds__(kEdge* kEdge)
    matmul_naive(T* out, const T* a, const T* b, const __grid_constant__ MatmulShape shape) {
  const long long across = (shape.n + kEdge - 1) / kEdge;
  const long long row = blockIdx.x / across * kEdge + threadIdx.x / kEdge;
  const long long column = blockIdx.x % across * kEdge + threadIdx.x % kEdge;
  if (row >= shape.m || column >= shape.n) return;
  for (long long batch = blockIdx.y; batch < shape.batches; batch += gridDim.y) {
    const BatchOffsets begin = batch_offsets(shape, batch);
    const T* const x = a + begin.at[1] + row * shape.rows[1];
    const T* const y = b + begin.at[2] + column * shape.columns[2];
    A sum = 0;
    for (long long k = 0; k < shape.k; ++k) {
      sum = Accumulate<A>::of(sum, static_cast<A>(number(x[k * shape.columns[1]])),
                              static_cast<A>(number(y[k * shape.rows[2]])));
    }
    out[begin.at[0] + row * shape.rows[0] + column * shape.columns[0]] = store_as<T>(sum);
  }
}

// kOuter lines of kDepth elements into tile[depth][outer]; neighbours in memory by neighbouring threads.
template <typename T, typename A, int kOuter, int kDepth>
__device__ inline void load_tile(A (&tile)[kDepth][kOuter + 1], const T* from, long long outer_first,
                                 long long outer_count, long long outer_stride, long long depth_first,
                                 long long depth_count, long long depth_stride) {
  const bool along_depth = depth_stride == 1 && outer_stride != 1;
#pragma unroll
  for (int i = 0; i < kOuter * kDepth / (kEdge * kEdge); ++i) {
    const int item = i * kEdge * kEdge + threadIdx.x;
    const int outer = along_depth ? item / kDepth : item % kOuter;
    const int depth = along_depth ? item % kDepth : item / kOuter;
    const long long o = outer_first + outer, d = depth_first + depth;
    A value = 0;
    if (o < outer_count && d < depth_count)
      value = static_cast<A>(number(from[o * outer_stride + d * depth_stride]));
    tile[depth][outer] = value;
  }
}

template <typename T, typename A, int kTile, int kDepth>
__global__ void __launch_bounds__(kEdge* kEdge)
    matmul_tiled(T* out, const T* a, const T* b, const __grid_constant__ MatmulShape shape) {
  constexpr int kEach = kTile / kEdge;
  __shared__ A a_tile[kDepth][kTile + 1];
  __shared__ A b_tile[kDepth][kTile + 1];
  const long long across = (shape.n + kTile - 1) / kTile;
  const long long first_row = blockIdx.x / across * kTile;
  const long long first_column = blockIdx.x % across * kTile;
  const int y = threadIdx.x / kEdge, x = threadIdx.x % kEdge;
  for (long long batch = blockIdx.y; batch < shape.batches; batch += gridDim.y) {
    const BatchOffsets begin = batch_offsets(shape, batch);
    A sums[kEach][kEach] = {};
    for (long long k = 0; k < shape.k; k += kDepth) {
      load_tile<T, A, kTile, kDepth>(a_tile, a + begin.at[1], first_row, shape.m, shape.rows[1], k, shape.k,
                                     shape.columns[1]);
      load_tile<T, A, kTile, kDepth>(b_tile, b + begin.at[2], first_column, shape.n, shape.columns[2], k,
                                     shape.k, shape.rows[2]);
      __syncthreads();
#pragma unroll
      for (int depth = 0; depth < kDepth; ++depth) {
        A left[kEach], right[kEach];
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
          left[i] = a_tile[depth][y + i * kEdge];
          right[i] = b_tile[depth][x + i * kEdge];
        }
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
#pragma unroll
          for (int j = 0; j < kEach; ++j) sums[i][j] = Accumulate<A>::of(sums[i][j], left[i], right[j]);
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const long long row = first_row + y + i * kEdge;
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const long long column = first_column + x + j * kEdge;
        if (row < shape.m && column < shape.n) {
          out[begin.at[0] + row * shape.rows[0] + column * shape.columns[0]] = store_as<T>(sums[i][j]);
        }
      }
    }
  }
}

}  // namespace gpuforge
