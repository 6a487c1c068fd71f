// out[row] = sum of in[row][...]: row_sum.cu, written with layouts.
// The matrix is whatever MATRIX says: a layout (row, column) -> index, known when the kernel is compiled, all
// of it or in part. A block takes eight rows, one warp each, in steps of 128 columns: four values a thread,
// read at once where the rows are aligned. Grid: rows / 8, rounded up. Block: 256 threads. Reads 4 bytes per
// element.
#include "gpuforge/kernels/tile.cuh"
using namespace gpuforge;

#ifndef MATRIX  // of any shape, row-major
#define MATRIX Layout<Shape<int, int>, Stride<long long, Int<1>>>
#endif
using Matrix = MATRIX;
using Tile = Shape<Int<8>, Int<128>>;
// (thread, value) -> element of the tile, as make_layout_tv((8,32):(32,1), (1,4):(4,1)) has it: lanes of a
// warp side by side, four columns each, and warps below each other.
using Work = Layout<Shape<Shape<Int<32>, Int<8>>, Int<4>>, Stride<Stride<Int<32>, Int<1>>, Int<8>>>;

extern "C" __global__ void row_sum_layout(float* out, const float* in, Matrix layout) {
  auto matrix = make_tensor<16>(in, layout);

  float sum = 0.0f;
  for (int step = 0; step < tile_count<1>(matrix, Tile{}); ++step) {
    auto tile = local_tile(matrix, Tile{}, blockIdx.x, step);
    auto mine = partition(tile, Work{}, threadIdx.x);
    auto values = make_fragment_like(mine);
    copy(mine, values);  // zeros beyond the matrix
    for (int i = 0; i < 4; ++i) sum += values[i];
  }
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);

  int row = blockIdx.x * 8 + threadIdx.x / 32;
  if (threadIdx.x % 32 == 0 && row < extent<0>(matrix)) out[row] = sum;
}
