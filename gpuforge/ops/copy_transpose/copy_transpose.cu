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

// A block moves kTile x kTile elements through shared memory, so that reads and writes both run along rows. A
// row of the tile is one word longer than its elements, which puts those of a column into different banks.
// Block: kTile threads along a row, kRows below each other.
template <typename T, int kTile, int kRows>
__global__ void __launch_bounds__(kTile* kRows)
    transpose_tiled(T* out, const T* x, Matrix m, const __grid_constant__ Rows<2> planes) {
  __shared__ T tile[kTile][kTile + 4 / sizeof(T)];
  const long long tiles_across = (m.columns + kTile - 1) / kTile;
  const long long tiles = (m.rows + kTile - 1) / kTile * tiles_across;
  const RowOffsets<2> plane = row_offsets(planes, blockIdx.x / tiles);
  const long long place = blockIdx.x % tiles;
  const long long first_row = place / tiles_across * kTile;
  const long long first_column = place % tiles_across * kTile;
  const int across = static_cast<int>(threadIdx.x) % kTile;
  const int down = static_cast<int>(threadIdx.x) / kTile;

  const T* const from = x + plane.at[0] + first_row * m.x_row + first_column * m.x_column;
#pragma unroll
  for (int row = 0; row < kTile; row += kRows) {
    const int i = row + down;
    if (first_row + i < m.rows && first_column + across < m.columns)
      tile[i][across] = from[i * m.x_row + across * m.x_column];
  }
  __syncthreads();
  T* const to = out + plane.at[1] + first_column * m.out_row + first_row * m.out_column;
#pragma unroll
  for (int column = 0; column < kTile; column += kRows) {
    const int j = column + down;
    if (first_column + j < m.columns && first_row + across < m.rows)
      to[j * m.out_row + across * m.out_column] = tile[across][j];
  }
}

// The tile of transpose_vectors: row c has column c of x, as words of kPair elements. Accesses of kWords
// words stand in another order in every kVector rows, so that neither those along a row nor those along a
// column meet in a bank.
template <typename T, int kTile, int kVector>
struct WordTile {
  static constexpr int kPair = 4 / sizeof(T);
  static constexpr int kWords = kVector / kPair;
  static constexpr int kAcross = kWarp / kWords;  // accesses that go over all banks
  static constexpr int kRowWords = kTile / kPair;
  static_assert(kRowWords % kWarp == 0, "rows go over all banks");

  __device__ static int place(int row, int word) {
    return row * kRowWords + (word / kWords ^ row / kVector % kAcross) * kWords + word % kWords;
  }
  // Element k of kPair neighbouring rows.
  __device__ static unsigned word(const Packed<T, kVector> (&rows)[kPair], int k) {
    if constexpr (kPair == 1) {
      return rows[0].words[k];
    } else {
      return __byte_perm(rows[0].words[k / 2], rows[1].words[k / 2], k % 2 == 0 ? 0x5410 : 0x7632);
    }
  }
};

// The same with kVector elements an access: rows and columns are multiples of that, neighbours in x and in
// out stand side by side, and rows begin aligned. A warp takes kAcross accesses along a row, 128 bytes, times
// kWords below each other. Block: kTile / kVector * kRows threads.
template <typename T, int kTile, int kRows, int kVector>
__global__ void __launch_bounds__(kTile / kVector * kRows)
    transpose_vectors(T* out, const T* x, Matrix m, const __grid_constant__ Rows<2> planes) {
  using Tile = WordTile<T, kTile, kVector>;
  constexpr int kWarps = kTile / kVector * kRows / kWarp;
  constexpr int kStepsAcross = Tile::kRowWords / kWarp;
  constexpr int kLoads = kStepsAcross * Tile::kRowWords / Tile::kWords / kWarps;
  constexpr int kStores = kStepsAcross * kTile / Tile::kWords / kWarps;
  __shared__ __align__(16) unsigned tile[kTile * Tile::kRowWords];
  const long long tiles_across = (m.columns + kTile - 1) / kTile;
  const long long tiles = (m.rows + kTile - 1) / kTile * tiles_across;
  const RowOffsets<2> plane = row_offsets(planes, blockIdx.x / tiles);
  const long long first_row = blockIdx.x % tiles / tiles_across * kTile;
  const long long first_column = blockIdx.x % tiles % tiles_across * kTile;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int across = static_cast<int>(threadIdx.x) % Tile::kAcross;
  const int down = static_cast<int>(threadIdx.x) % kWarp / Tile::kAcross;

  // All loads are under way before the first is used.
  Packed<T, kVector> loaded[kLoads][Tile::kPair];
  const T* const from = x + plane.at[0] + first_row * m.x_row + first_column;
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int step = k * kWarps + warp;
    const int column = (step % kStepsAcross * Tile::kAcross + across) * kVector;
    const int row = (step / kStepsAcross * Tile::kWords + down) * Tile::kPair;
    if (first_row + row < m.rows && first_column + column < m.columns) {
#pragma unroll
      for (int e = 0; e < Tile::kPair; ++e)
        loaded[k][e] = Packed<T, kVector>::load(from + (row + e) * m.x_row + column);
    }
  }
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int step = k * kWarps + warp;
    const int column = (step % kStepsAcross * Tile::kAcross + across) * kVector;
    const int word = step / kStepsAcross * Tile::kWords + down;
    if (first_row + word * Tile::kPair < m.rows && first_column + column < m.columns) {
#pragma unroll
      for (int e = 0; e < kVector; ++e) tile[Tile::place(column + e, word)] = Tile::word(loaded[k], e);
    }
  }
  __syncthreads();
  T* const to = out + plane.at[1] + first_column * m.out_row + first_row;
#pragma unroll
  for (int k = 0; k < kStores; ++k) {
    const int step = k * kWarps + warp;
    const int access = step % kStepsAcross * Tile::kAcross + across;
    const int row = step / kStepsAcross * Tile::kWords + down;
    if (first_column + row < m.columns && first_row + access * kVector < m.rows) {
      const unsigned* const words = tile + Tile::place(row, access * Tile::kWords);
      Packed<T, kVector>::load(reinterpret_cast<const T*>(words))
          .store(to + row * m.out_row + access * kVector);
    }
  }
}

}  // namespace gpuforge
