// out[column][row] = in[row][column]: tiled_transpose.cu, written with layouts.
// IN and OUT say how the two matrices lie in memory. Each block moves one 32 x 32 tile through shared memory,
// 256 threads with four elements each, read and written 16 bytes at a time where the rows are aligned. The
// swizzle, in place of a padded column, puts the elements of a tile's column into different banks and keeps
// 16 bytes together. Grid: (columns / 32, rows / 32), rounded up. Moves 8 bytes per element.
#include "gpuforge/kernels/tile.cuh"
using namespace gpuforge;

#ifndef IN  // of any shape, row-major
#define IN Layout<Shape<int, int>, Stride<long long, Int<1>>>
#define OUT IN
#endif
using Tile = Shape<Int<32>, Int<32>>;
using Rows = SwizzledLayout<Swizzle<3, 2, 5>, Int<0>, Layout<Tile, Stride<Int<32>, Int<1>>>>;
using Columns = SwizzledLayout<Swizzle<3, 2, 5>, Int<0>, Layout<Tile, Stride<Int<1>, Int<32>>>>;
// (thread, value) -> element of the tile: eight threads side by side, four elements each, and 32 rows of
// threads.
using Work = Layout<Shape<Shape<Int<8>, Int<32>>, Int<4>>, Stride<Stride<Int<128>, Int<1>>, Int<32>>>;

extern "C" __global__ void transpose_layout(float* out, const float* in, OUT out_layout, IN in_layout) {
  __shared__ alignas(16) float memory[Rows::kCosize];

  auto from = local_tile(make_tensor<16>(in, in_layout), Tile{}, blockIdx.y, blockIdx.x);
  auto rows = make_tensor<16>(memory, Rows{});
  copy(partition(from, Work{}, threadIdx.x), partition(rows, Work{}, threadIdx.x));
  __syncthreads();

  auto to = local_tile(make_tensor<16>(out, out_layout), Tile{}, blockIdx.x, blockIdx.y);
  auto columns = make_tensor<16>(memory, Columns{});
  copy(partition(columns, Work{}, threadIdx.x), partition(to, Work{}, threadIdx.x));
}
