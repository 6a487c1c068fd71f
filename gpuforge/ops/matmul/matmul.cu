// out[b, m, n] = sum over k of a[b, m, k] * b[b, k, n], for views of any strides. 2 m n k operations a batch;
// matmul_tiled reads every element of a n / kColumns times and of b m / kRows times. Tiles of both go through
// shared memory as accumulators; a thread of 16 x 16 has kRows / 16 by kColumns / 16 results, 16 apart, so
// that neighbours in a warp are neighbours in shared memory and in the output.
#include "gpuforge/kernels/element.cuh"
#include "gpuforge/kernels/stream_order.cuh"

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

// A block's tile of out. A grid has up to 2^31 blocks along x, 2^16 along y and z, so that 32 bits do.
struct Block {
  long long row, column;  // of the tile's first element
  long long batch;
};
template <int kRows, int kColumns>
__device__ inline Block this_block(const MatmulShape& shape) {
  const auto across = static_cast<unsigned>((shape.n + kColumns - 1) / kColumns);
  return {1LL * (blockIdx.x / across) * kRows, 1LL * (blockIdx.x % across) * kColumns,
          1LL * blockIdx.z * gridDim.y + blockIdx.y};
}

// One thread an element.
template <typename T, typename A>
__global__ void __launch_bounds__(kEdge* kEdge)
    matmul_naive(T* out, const T* a, const T* b, const __grid_constant__ MatmulShape shape) {
  const Block block = this_block<kEdge, kEdge>(shape);
  const long long row = block.row + threadIdx.x / kEdge;
  const long long column = block.column + threadIdx.x % kEdge;
  if (row >= shape.m || column >= shape.n || block.batch >= shape.batches) return;
  const BatchOffsets begin = batch_offsets(shape, block.batch);
  const T* const x = a + begin.at[1] + row * shape.rows[1];
  const T* const y = b + begin.at[2] + column * shape.columns[2];
  A sum = 0;
  for (long long k = 0; k < shape.k; ++k) {
    sum = Accumulate<A>::of(sum, static_cast<A>(number(x[k * shape.columns[1]])),
                            static_cast<A>(number(y[k * shape.rows[2]])));
  }
  out[begin.at[0] + row * shape.rows[0] + column * shape.columns[0]] = store_as<T>(sum);
}

// kOuter lines of kDepth elements into tile[depth][outer]; neighbours in memory by neighbouring threads.
template <typename T, typename A, int kOuter, int kDepth>
__device__ inline void load_tile(A (&tile)[kDepth][kOuter + 1], const T* from, long long outer_first,
                                 long long outer_count, long long outer_stride, long long depth_first,
                                 long long depth_count, long long depth_stride) {
  constexpr int kThreads = kEdge * kEdge;
  const bool along_depth = depth_stride == 1 && outer_stride != 1;
  // A thread's items lie one step apart along one of the two.
  const int outer = along_depth ? threadIdx.x / kDepth : threadIdx.x % kOuter;
  const int depth = along_depth ? threadIdx.x % kDepth : threadIdx.x / kOuter;
  const int outer_step = along_depth ? kThreads / kDepth : 0;
  const int depth_step = along_depth ? 0 : kThreads / kOuter;
  const T* item = from + (outer_first + outer) * outer_stride + (depth_first + depth) * depth_stride;
  const long long step = outer_step * outer_stride + depth_step * depth_stride;
#pragma unroll
  for (int i = 0; i < kOuter * kDepth / kThreads; ++i, item += step) {
    const int o = outer + i * outer_step, d = depth + i * depth_step;
    const bool inside = outer_first + o < outer_count && depth_first + d < depth_count;
    tile[d][o] = inside ? static_cast<A>(number(*item)) : A(0);
  }
}

template <typename T, typename A, int kRows, int kColumns, int kDepth>
__global__ void __launch_bounds__(kEdge* kEdge)
    matmul_tiled(T* out, const T* a, const T* b, const __grid_constant__ MatmulShape shape) {
  begin_after_previous_kernel();
  constexpr int kDown = kRows / kEdge, kAcross = kColumns / kEdge;  // results of a thread
  __shared__ A a_tile[kDepth][kRows + 1];
  __shared__ A b_tile[kDepth][kColumns + 1];
  const Block block = this_block<kRows, kColumns>(shape);
  if (block.batch >= shape.batches) return;
  const BatchOffsets begin = batch_offsets(shape, block.batch);
  const int y = threadIdx.x / kEdge, x = threadIdx.x % kEdge;
  A sums[kDown][kAcross] = {};
  for (long long k = 0; k < shape.k; k += kDepth) {
    load_tile<T, A, kRows, kDepth>(a_tile, a + begin.at[1], block.row, shape.m, shape.rows[1], k, shape.k,
                                   shape.columns[1]);
    load_tile<T, A, kColumns, kDepth>(b_tile, b + begin.at[2], block.column, shape.n, shape.columns[2], k,
                                      shape.k, shape.rows[2]);
    __syncthreads();
#pragma unroll 2  // all of it would read further ahead than there are registers
    for (int depth = 0; depth < kDepth; ++depth) {
      A left[kDown], right[kAcross];
#pragma unroll
      for (int i = 0; i < kDown; ++i) left[i] = a_tile[depth][y + i * kEdge];
#pragma unroll
      for (int j = 0; j < kAcross; ++j) right[j] = b_tile[depth][x + j * kEdge];
#pragma unroll
      for (int i = 0; i < kDown; ++i) {
#pragma unroll
        for (int j = 0; j < kAcross; ++j) sums[i][j] = Accumulate<A>::of(sums[i][j], left[i], right[j]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kDown; ++i) {
    const long long row = block.row + y + i * kEdge;
#pragma unroll
    for (int j = 0; j < kAcross; ++j) {
      const long long column = block.column + x + j * kEdge;
      if (row < shape.m && column < shape.n) {
        out[begin.at[0] + row * shape.rows[0] + column * shape.columns[0]] = store_as<T>(sums[i][j]);
      }
    }
  }
}

}  // namespace gpuforge
