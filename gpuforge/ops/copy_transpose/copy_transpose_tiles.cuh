// How the kernels of copy_transpose cut matrices into tiles, and which block has which of them. The host's
// side, which makes their arguments, is copy_transpose_plan.cpp.
#pragma once

#include "gpuforge/kernels/rows.cuh"
#include "gpuforge/kernels/stream_order.cuh"

namespace gpuforge {

// One of the planes. Index is int where rows, columns and offsets within a plane are that small, also a few
// tiles further: blocks of small tiles are short, and 64-bit arithmetic takes three times as many
// instructions.
template <typename Index>
struct Matrix {
  Index rows;  // of x
  Index columns;
  Index x_row;  // strides
  Index x_column;
  Index out_row;
  Index out_column;
  int shifted_width;  // columns of a tile of transpose_shifted
};

// Planes that are equally far from each other, which includes one plane alone. Any other planes are the rows
// of a Rows<2>. x is array 0, out array 1.
struct PlaneSteps {
  long long x;
  long long out;
};
__device__ inline RowOffsets<2> plane_offsets(const PlaneSteps& steps, unsigned plane) {
  return {{plane * steps.x, plane * steps.out}};
}
__device__ inline RowOffsets<2> plane_offsets(const Rows<2>& planes, unsigned plane) {
  return row_offsets(planes, plane);
}

// Divides numbers below 2^31 by one that the host knows: a block of a small tile is shorter than a division.
struct Divisor {
  unsigned value;
  unsigned magic;
  unsigned shift;
  __device__ unsigned quotient(unsigned number) const { return (__umulhi(number, magic) + number) >> shift; }
};

struct TilePlace {
  unsigned plane;
  unsigned row;  // in tiles
  unsigned column;
};

// Blocks of x and y are the rows and columns of tiles, or the other way round: those of x come one after the
// other. Planes are z.
struct GridOrder {
  unsigned down_first;
};
__device__ inline TilePlace tile_place(const GridOrder& order) {
  if (order.down_first) return {blockIdx.z, blockIdx.x, blockIdx.y};
  return {blockIdx.z, blockIdx.y, blockIdx.x};
}

// Tiles come in groups of so many rows of tiles; within a group they go down its columns, one after the
// other. The last group of a plane may have rows of tiles that are not there: their blocks have nothing to
// do.
struct GroupOrder {
  Divisor plane_tiles;
  Divisor group_tiles;
  Divisor group_rows;
};
__device__ inline TilePlace tile_place(const GroupOrder& order) {
  const unsigned block = blockIdx.x;
  const unsigned plane = order.plane_tiles.quotient(block);
  const unsigned in_plane = block - plane * order.plane_tiles.value;
  const unsigned group = order.group_tiles.quotient(in_plane);
  const unsigned in_group = in_plane - group * order.group_tiles.value;
  const unsigned column = order.group_rows.quotient(in_group);
  return {plane, group * order.group_rows.value + in_group - column * order.group_rows.value, column};
}

// The same number. To what the compiler does not see through, it adds strides; otherwise it multiplies rows
// by strides again for every access.
__device__ inline int computed(int offset) {
  asm("" : "+r"(offset));
  return offset;
}
__device__ inline long long computed(long long offset) {
  asm("" : "+l"(offset));
  return offset;
}

// What a tile has of `left` rows or columns: none of them, or less, where the tile is not there.
template <int kMost, typename Index>
__device__ inline int at_most(Index left) {
  return static_cast<int>(left < kMost ? left : kMost);
}

}  // namespace gpuforge
