// transpose_shifted: rows of x and of out may begin anywhere, and still move in accesses of 16 bytes.
#pragma once

#include "gpuforge/ops/copy_transpose/copy_transpose_tiles.cuh"

namespace gpuforge {

// Neighbours in x and in out stand side by side. An access is kVector elements that begin at a multiple of 16
// bytes, which is another column in every row.
//
// x: a warp has one row at a time, an access a lane. Tiles are at least one access narrower than a warp, so
// that its lanes have the columns of the tile wherever the row begins. From one row of a warp to its next it
// is a multiple of kVector rows: all of them begin equally far past a multiple of 16 bytes. out: a row of the
// tile has kTall elements that begin at a multiple of 16 bytes, which may be up to kVector
// - 1 elements before those of another row. So every access is written whole, by one block; for this blocks
// load kVector - 1 rows of x before their own.
// Only at the true ends of rows do elements move alone.
//
// Shared memory has a row for each column of x. It is one word longer than its elements, and there is one
// more word after every kVector rows: lanes with the same element of their accesses write to different banks,
// and lanes that read eight accesses of each of four rows, word by word, read from different ones.
template <typename T, int kTall, int kWarps>
struct ShiftedTile {
  static constexpr int kPair = 4 / sizeof(T);
  static constexpr int kVector = 16 / sizeof(T);
  static constexpr int kColumns = (kWarp - 1) * kVector;  // at most
  static constexpr int kBefore = kVector - 1;
  static constexpr int kLoaded = kBefore + kTall;
  static constexpr int kLoads = (kLoaded + kWarps - 1) / kWarps;
  static constexpr int kPitch = (kTall / kPair + 1) * kPair;
  static constexpr int kVectorPitch = kVector * kPitch + kPair;
  static constexpr int kElements = (kWarp + 1) * kVectorPitch;
  static_assert(kTall % (kWarp * kPair) == 0, "rows are multiples of 128 bytes");
  static_assert(kWarps % kVector == 0, "rows of a warp begin alike");

  __device__ static int past_access(const T* at) {
    return static_cast<int>(reinterpret_cast<unsigned long long>(at) / sizeof(T)) & (kVector - 1);
  }
  // Where the row of a column begins, which may be up to kVector before the first.
  __device__ static int row_place(int column) {
    const unsigned row = static_cast<unsigned>(column + kVector);
    return static_cast<int>(row / kVector * kVectorPitch + row % kVector * kPitch);
  }
};

// What one warp loads, and where it puts it.
template <typename T, int kTall, int kWarps, typename Index>
struct ShiftedLoads {
  using Tile = ShiftedTile<T, kTall, kWarps>;
  static constexpr int kVector = Tile::kVector;
  static constexpr int kLoads = Tile::kLoads;
  const T* from;  // the tile's first column in the warp's first row
  Index step;     // to its next
  int warp;
  int rows_from;  // rows before this one are not there
  int rows;
  int columns_from;  // 0 where x has no column before the tile's
  int columns;       // as many as there are, up to what a warp may look at
  int width;         // those of them that are the tile's
  int out_past;      // how far past a multiple of 16 bytes out's first element is,
  int out_step;      // and how much further that of the next column

  __device__ bool has_row(int k) const {
    const int row = k * kWarps + warp;
    return row >= rows_from && row < rows;
  }
  // Where the element of the warp's first row is; in later ones it is kWarps elements further.
  __device__ int first_element(int column) const {
    return warp - Tile::kBefore + ((out_past + column * out_step) & (kVector - 1));
  }
  // No: it is another tile's. Only the first and the last rows of a warp have such elements.
  __device__ static bool is_ours(int k, int first_element) {
    return (k * kWarps >= Tile::kBefore || first_element + k * kWarps >= 0) &&
           ((k + 1) * kWarps <= kTall || first_element + k * kWarps < kTall);
  }

  // Elements outside whole accesses: the first kVector lanes have those before, the next those after.
  __device__ void move_ends(T* tile, int lane) const {
    const int past = Tile::past_access(from);
    const int head = columns_from < 0 || past == 0 ? 0 : kVector - past;
    const int tail = (columns + past) / kVector * kVector - past;
    const int column = lane < kVector ? lane : tail + lane - kVector;
    const bool is_end = lane < kVector ? column < head : lane < 2 * kVector && column >= head;
    if (!is_end || column >= width) return;
    const int element = first_element(column);
    T* const row = tile + Tile::row_place(column) + element;
    T moved[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k)
      if (has_row(k)) moved[k] = from[k * step + column];
#pragma unroll
    for (int k = 0; k < kLoads; ++k)
      if (has_row(k) && is_ours(k, element)) row[k * kWarps] = moved[k];
  }

  __device__ void move_accesses(T* tile, int lane) const {
    const int past = Tile::past_access(from);
    const int column = lane * kVector - past;
    if (column < columns_from || column >= width || column + kVector > columns) return;
    // All loads are under way before the first is used.
    Packed<T, kVector> loaded[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k)
      if (has_row(k)) loaded[k] = Packed<T, kVector>::load(from + k * step + column);
    int elements[kVector];
    T* rows_of_lane[kVector];
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      elements[e] = first_element(e - past);
      rows_of_lane[e] = tile + Tile::row_place(e - past) + lane * Tile::kVectorPitch + elements[e];
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if (!has_row(k)) continue;
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        const unsigned word = loaded[k].words[e / Tile::kPair];
        if (is_ours(k, elements[e]))
          rows_of_lane[e][k * kWarps] = static_cast<T>(e % Tile::kPair == 0 ? word : word >> 16);
      }
    }
  }
};

template <typename T, int kTall, int kWarps, typename Index, typename Order, typename Planes>
__global__ void __launch_bounds__(kWarps* kWarp, 1024 / (kWarps * kWarp))
    transpose_shifted(T* out, const T* x, Matrix<Index> m, Order order,
                      const __grid_constant__ Planes planes) {
  using Tile = ShiftedTile<T, kTall, kWarps>;
  constexpr int kVector = Tile::kVector;
  __shared__ __align__(16) T tile[Tile::kElements];
  const TilePlace place = tile_place(order);
  begin_after_previous_kernel();
  const RowOffsets<2> plane = plane_offsets(planes, place.plane);
  const Index first_row = static_cast<Index>(place.row) * kTall;
  const Index first_column = static_cast<Index>(place.column) * m.shifted_width;
  const int warp = static_cast<int>(threadIdx.x / kWarp);
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const int loaded = at_most<Tile::kLoaded>(m.rows - first_row + Tile::kBefore);
  const int columns = at_most<(kWarp + 1) * kVector>(m.columns - first_column);
  const int width = columns < m.shifted_width ? columns : m.shifted_width;
  T* const to = out + plane.at[1] + computed(first_column * m.out_row + first_row);

  const ShiftedLoads<T, kTall, kWarps, Index> loads{
      x + plane.at[0] + computed((first_row - Tile::kBefore + warp) * m.x_row + first_column),
      kWarps * m.x_row,
      warp,
      place.row == 0 ? Tile::kBefore : 0,
      loaded,
      place.column == 0 ? 0 : -kVector,
      columns,
      width,
      Tile::past_access(to),
      static_cast<int>(m.out_row) & (kVector - 1)};
  if (place.column == 0 || columns < width + kVector) loads.move_ends(tile, lane);
  loads.move_accesses(tile, lane);
  __syncthreads();

  // A warp writes eight accesses of each of four rows. From one step to the next it is a multiple of kVector
  // rows, which begin alike as well.
  constexpr int kAcross = kTall / (8 * kVector);
  constexpr int kStep = 4 * kWarps / kAcross;
  static_assert(kWarps % kAcross == 0 && kStep % kVector == 0, "rows of a warp begin alike");
  const int first = (warp % kAcross * 8 + lane % 8) * kVector;
  const int column = warp / kAcross * 4 + lane / 8;
  T* row = to + column * m.out_row;
  const int at = first - Tile::past_access(row);  // the row of x
  row += at;
  const int rows_from = place.row == 0 ? 0 : -kVector;
  const int rows = loaded - Tile::kBefore;
  const T* const moved = tile + Tile::row_place(column) + first;
  const int steps = (width - column + kStep - 1) / kStep;
  if (at >= rows_from && at + kVector <= rows) {
#pragma unroll
    for (int s = 0; s * kStep < Tile::kColumns; ++s) {
      if (s >= steps) break;
      Packed<T, kVector> access;
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        access.words[w] = *reinterpret_cast<const typename Moved<4>::Type*>(
            moved + s * (kStep / kVector * Tile::kVectorPitch) + w * Tile::kPair);
      }
      access.store(row + s * (kStep * m.out_row));
    }
  } else {
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        if (at + e >= rows_from && at + e < rows)
          row[s * (kStep * m.out_row) + e] = moved[s * (kStep / kVector * Tile::kVectorPitch) + e];
      }
    }
  }
}

}  // namespace gpuforge
