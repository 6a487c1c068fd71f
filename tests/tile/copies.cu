// out = in, tile by tile through registers: one block, all tiles.
#include "gpuforge/kernels/half.cuh"
#include "gpuforge/kernels/tile.cuh"
using namespace gpuforge;

template <class T, class TV, class Tile, class Matrix>
__global__ void copy_tiles(T* out, const T* in, Matrix layout) {
  auto from = make_tensor<16>(in, layout);
  auto to = make_tensor<16>(out, layout);
  for (int row = 0; row < tile_count<0>(from, Tile{}); ++row)
    for (int column = 0; column < tile_count<1>(from, Tile{}); ++column) {
      auto mine = partition(local_tile(from, Tile{}, row, column), TV{}, threadIdx.x);
      auto values = make_fragment_like(mine);
      copy(mine, values);
      copy(values, partition(local_tile(to, Tile{}, row, column), TV{}, threadIdx.x));
    }
}

// One mode: its end may lie within a vector.
template <class TV, class Tile, class Row>
__global__ void copy_row(float* out, const float* in, Row layout) {
  auto from = make_tensor<16>(in, layout);
  auto to = make_tensor<16>(out, layout);
  copy(partition(local_tile(from, Tile{}, blockIdx.x), TV{}, threadIdx.x),
       partition(local_tile(to, Tile{}, blockIdx.x), TV{}, threadIdx.x));
}

// What a copy puts where there is nothing to copy.
template <class TV, class Tile, class Row>
__global__ void copy_filled(float* out, const float* in, Row layout) {
  auto mine = partition(local_tile(make_tensor<16>(in, layout), Tile{}, 0), TV{}, threadIdx.x);
  auto values = make_fragment_like(mine);
  copy(mine, values, -7.0f);
  for (int i = 0; i < values.kSize; ++i) out[threadIdx.x * values.kSize + i] = values[i];
}
