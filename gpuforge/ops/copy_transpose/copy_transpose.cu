// out[.., j, i] = x[.., i, j] for views of any strides (in elements). Reads and writes every element once: 2
// * sizeof(T) bytes, no arithmetic. Elements only move, so T is an unsigned integer of their size.
#include "gpuforge/kernels/rows.cuh"

namespace gpuforge {

// One of the planes; they begin where the rows of `planes` do (x is array 0, out array 1).
struct Matrix {
  long long rows;  // of x
  long long columns;
  long long x_row;  // strides
  long long x_column;
  long long out_row;
  long long out_column;
};

// A thread an element: reads run along the rows of x, so writes are a row apart from each other.
template <typename T>
__global__ void __launch_bounds__(256)
    transpose_naive(T* out, const T* x, Matrix m, const __grid_constant__ Rows<2> planes) {
  const long long per_plane = m.rows * m.columns;
  const long long count = per_plane * planes.count;
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; at < count; at += step) {
    const RowOffsets<2> plane = row_offsets(planes, at / per_plane);
    const long long i = at % per_plane / m.columns;
    const long long j = at % m.columns;
    out[plane.at[1] + j * m.out_row + i * m.out_column] = x[plane.at[0] + i * m.x_row + j * m.x_column];
  }
}

// kCount neighbours in one access.
template <int kCount, typename T>
__device__ inline void move_in(T (&to)[kCount], const T* from) {
  if constexpr (kCount == 1) {
    to[0] = from[0];
  } else {
    const auto packed = Packed<T, kCount>::load(from);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      if constexpr (sizeof(T) == 4) {
        to[k] = packed.words[k];
      } else {
        to[k] = static_cast<T>(packed.words[k / 2] >> k % 2 * 16);
      }
    }
  }
}
template <int kCount, typename T>
__device__ inline void move_out(T* to, const T (&from)[kCount]) {
  if constexpr (kCount == 1) {
    to[0] = from[0];
  } else {
    Packed<T, kCount> packed;
#pragma unroll
    for (int w = 0; w < Packed<T, kCount>::kWords; ++w) {
      if constexpr (sizeof(T) == 4) {
        packed.words[w] = from[w];
      } else {
        packed.words[w] = from[2 * w] | static_cast<unsigned>(from[2 * w + 1]) << 16;
      }
    }
    packed.store(to);
  }
}

// A block moves kTile x kTile elements through shared memory, so that reads and writes both run along rows,
// kVector elements an access; then rows and columns are multiples of it, and rows begin aligned. A row of the
// tile is one word longer than its elements, which puts those of a column into different banks. Block: kTile
// / kVector threads along a row, kRows below each other.
template <typename T, int kTile, int kRows, int kVector>
__global__ void __launch_bounds__(kTile / kVector * kRows)
    transpose_tiled(T* out, const T* x, Matrix m, const __grid_constant__ Rows<2> planes) {
  __shared__ T tile[kTile][kTile + 4 / sizeof(T)];
  constexpr int kAcross = kTile / kVector;
  const long long tiles_across = (m.columns + kTile - 1) / kTile;
  const long long tiles = (m.rows + kTile - 1) / kTile * tiles_across;
  const RowOffsets<2> plane = row_offsets(planes, blockIdx.x / tiles);
  const long long place = blockIdx.x % tiles;
  const long long first_row = place / tiles_across * kTile;
  const long long first_column = place % tiles_across * kTile;
  const int across = static_cast<int>(threadIdx.x) % kAcross * kVector;
  const int down = static_cast<int>(threadIdx.x) / kAcross;

  const T* const from = x + plane.at[0] + first_row * m.x_row + first_column * m.x_column;
#pragma unroll
  for (int row = 0; row < kTile; row += kRows) {
    const int i = row + down;
    if (first_row + i < m.rows && first_column + across < m.columns) {
      T values[kVector];
      move_in(values, from + i * m.x_row + across * m.x_column);
#pragma unroll
      for (int k = 0; k < kVector; ++k) tile[i][across + k] = values[k];
    }
  }
  __syncthreads();
  T* const to = out + plane.at[1] + first_column * m.out_row + first_row * m.out_column;
#pragma unroll
  for (int column = 0; column < kTile; column += kRows) {
    const int j = column + down;
    if (first_column + j < m.columns && first_row + across < m.rows) {
      T values[kVector];
#pragma unroll
      for (int k = 0; k < kVector; ++k) values[k] = tile[across + k][j];
      move_out(to + j * m.out_row + across * m.out_column, values);
    }
  }
}

}  // namespace gpuforge
