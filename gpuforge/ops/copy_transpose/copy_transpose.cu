// out[.., j, i] = x[.., i, j] for views of any strides (in elements). Reads and writes every element once: 2
// * sizeof(T) bytes, no arithmetic. Elements only move, so T is an unsigned integer of their size.
#include "gpuforge/ops/copy_transpose/copy_transpose_shifted.cuh"
#include "gpuforge/ops/copy_transpose/copy_transpose_tiles.cuh"

namespace gpuforge {

// A thread an element: reads run along the rows of x, so writes are a row apart from each other.
template <typename T>
__global__ void __launch_bounds__(256)
    transpose_naive(T* out, const T* x, Matrix<long long> m, const __grid_constant__ Rows<2> planes) {
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
template <typename T, int kTile, int kRows, typename Index, typename Order, typename Planes>
__global__ void __launch_bounds__(kTile* kRows)
    transpose_tiled(T* out, const T* x, Matrix<Index> m, Order order, const __grid_constant__ Planes planes) {
  __shared__ T tile[kTile][kTile + 4 / sizeof(T)];
  const TilePlace place = tile_place(order);
  begin_after_previous_kernel();
  const RowOffsets<2> plane = plane_offsets(planes, place.plane);
  const Index first_row = static_cast<Index>(place.row) * kTile;
  const Index first_column = static_cast<Index>(place.column) * kTile;
  const int rows = at_most<kTile>(m.rows - first_row);
  const int columns = at_most<kTile>(m.columns - first_column);
  const int across = static_cast<int>(threadIdx.x % kTile);
  const int down = static_cast<int>(threadIdx.x / kTile);

  const T* const from =
      x + plane.at[0] + computed((first_row + down) * m.x_row + (first_column + across) * m.x_column);
  const int load_rows = across < columns ? rows - down : 0;
  T loaded[kTile / kRows];
#pragma unroll
  for (int k = 0; k < kTile / kRows; ++k)
    if (k * kRows < load_rows) loaded[k] = from[k * kRows * m.x_row];
#pragma unroll
  for (int k = 0; k < kTile / kRows; ++k)
    if (k * kRows < load_rows) tile[k * kRows + down][across] = loaded[k];
  __syncthreads();
  T* const to =
      out + plane.at[1] + computed((first_column + down) * m.out_row + (first_row + across) * m.out_column);
  const int store_rows = across < rows ? columns - down : 0;
#pragma unroll
  for (int k = 0; k < kTile / kRows; ++k)
    if (k * kRows < store_rows) loaded[k] = tile[across][k * kRows + down];
#pragma unroll
  for (int k = 0; k < kTile / kRows; ++k)
    if (k * kRows < store_rows) to[k * kRows * m.out_row] = loaded[k];
}

// The tile of transpose_vectors: row c has column c of x, as words of kPair elements. Accesses of kWords
// words stand in another order in every kVector rows, so that neither those along a row nor those along a
// column meet in a bank.
template <typename T, int kLength, int kVector>
struct WordTile {
  static constexpr int kPair = 4 / sizeof(T);
  static constexpr int kWords = kVector / kPair;
  static constexpr int kAcross = kWarp / kWords;  // accesses that go over all banks
  static constexpr int kRowWords = kLength / kPair;
  static_assert(kRowWords % kWarp == 0, "rows go over all banks");

  __device__ static unsigned place(unsigned row, unsigned word) {
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
// kWords below each other. A block moves kTall rows of kTile columns; it has kTile / kVector * kRows threads.
template <typename T, int kTile, int kTall, int kRows, int kVector>
struct VectorTile {
  using Words = WordTile<T, kTall, kVector>;
  static constexpr int kPair = Words::kPair;
  static constexpr int kWarps = kTile / kVector * kRows / kWarp;
  // Warps beside each other; how far it is from one access of a thread to its next.
  static constexpr int kLoadWarps = kTile / kVector / Words::kAcross;
  static constexpr int kLoadStep = kWarps / kLoadWarps * Words::kWords;  // in words: kPair rows of x
  static constexpr int kLoads = kTall / kPair / kLoadStep;
  static constexpr int kStoreWarps = Words::kRowWords / kWarp;
  static constexpr int kStoreStep = kWarps / kStoreWarps * Words::kWords;  // in rows of out
  static constexpr int kStores = kTile / kStoreStep;
  static_assert(kLoads * kLoadStep * kPair == kTall && kWarps % kLoadWarps == 0, "threads load alike");
  static_assert(kStores * kStoreStep == kTile && kWarps % kStoreWarps == 0, "threads store alike");

  // The tile begins `to` and `from` elements after out and x. A whole tile has all rows and columns.
  template <bool kWhole, typename Index>
  __device__ static void move(T* out, const T* x, Index to, Index from, unsigned* tile,
                              const Matrix<Index>& m, int rows, int columns) {
    const unsigned warp = threadIdx.x / kWarp;
    const unsigned across = threadIdx.x % Words::kAcross;
    const unsigned down = threadIdx.x % kWarp / Words::kAcross;

    const unsigned load_word = warp / kLoadWarps * Words::kWords + down;
    const int load_row = static_cast<int>(load_word * kPair);
    const int load_column = static_cast<int>((warp % kLoadWarps * Words::kAcross + across) * kVector);
    const int load_rows = load_column < columns ? rows - load_row : 0;
    const T* const first_load = x + computed(from + load_row * m.x_row + load_column);
    // All loads are under way before the first is used.
    Packed<T, kVector> loaded[kLoads][kPair];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if (kWhole || k * kLoadStep * kPair < load_rows) {
#pragma unroll
        for (int e = 0; e < kPair; ++e)
          loaded[k][e] = Packed<T, kVector>::load(first_load + (k * kLoadStep * kPair + e) * m.x_row);
      }
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if (kWhole || k * kLoadStep * kPair < load_rows) {
        unsigned* const rows_of_access = tile + Words::place(load_column, load_word + k * kLoadStep);
#pragma unroll
        for (int e = 0; e < kVector; ++e) rows_of_access[e * Words::kRowWords] = Words::word(loaded[k], e);
      }
    }
    __syncthreads();

    const int store_row = static_cast<int>(warp / kStoreWarps * Words::kWords + down);
    const int store_access = static_cast<int>(warp % kStoreWarps * Words::kAcross + across);
    const int store_rows = store_access * kVector < rows ? columns - store_row : 0;
    T* const first_store = out + computed(to + store_row * m.out_row + store_access * kVector);
#pragma unroll
    for (int k = 0; k < kStores; ++k) {
      if (kWhole || k * kStoreStep < store_rows) {
        const unsigned* const words =
            tile + Words::place(store_row + k * kStoreStep, store_access * Words::kWords);
        Packed<T, kVector>::load(reinterpret_cast<const T*>(words))
            .store(first_store + k * kStoreStep * m.out_row);
      }
    }
  }
};

template <typename T, int kTile, int kTall, int kRows, int kVector, typename Index, typename Order,
          typename Planes>
__global__ void __launch_bounds__(kTile / kVector * kRows)
    transpose_vectors(T* out, const T* x, Matrix<Index> m, Order order,
                      const __grid_constant__ Planes planes) {
  using Tile = VectorTile<T, kTile, kTall, kRows, kVector>;
  __shared__ __align__(16) unsigned tile[kTile * Tile::Words::kRowWords];
  const TilePlace place = tile_place(order);
  begin_after_previous_kernel();
  const RowOffsets<2> plane = plane_offsets(planes, place.plane);
  const Index first_row = static_cast<Index>(place.row) * kTall;
  const Index first_column = static_cast<Index>(place.column) * kTile;
  const int rows = at_most<kTall>(m.rows - first_row);
  const int columns = at_most<kTile>(m.columns - first_column);
  const Index from = first_row * m.x_row + first_column;
  const Index to = first_column * m.out_row + first_row;
  x += plane.at[0];
  out += plane.at[1];
  if (rows == kTall && columns == kTile) {
    Tile::template move<true>(out, x, to, from, tile, m, rows, columns);
  } else {
    Tile::template move<false>(out, x, to, from, tile, m, rows, columns);
  }
}

}  // namespace gpuforge
