// Where the values of each thread lie, and whether they are inside. Touches none of them.
#include "gpuforge/kernels/tile.cuh"
using namespace gpuforge;

// out[thread][value] = index, out[threads][thread][value] = inside
template <class TV, class Tile, class Matrix, class... At>
__global__ void thread_values(long long* out, Matrix layout, At... at) {
  auto mine = partition(local_tile(make_tensor(out, layout), Tile{}, at...), TV{}, threadIdx.x);
  for (int i = 0; i < mine.kSize; ++i) {
    int place = threadIdx.x * mine.kSize + i;
    out[place] = &mine[i] - out;
    out[blockDim.x * mine.kSize + place] = mine.inside(i);
  }
}

// The row sum of the tutorial: `divided` is zipped_divide of the matrix by (1,32), made on the host.
template <class TV, class Divided>
__global__ void sum_of_slices(float* out, const float* in, Divided divided, int steps) {
  auto tiles = make_tensor(in, divided);
  float sum = 0;
  for (int step = 0; step < steps; ++step) {
    auto tile = slice(tiles, _, make_coord(blockIdx.x, step));
    sum += partition(tile, TV{}, threadIdx.x)[0];
  }
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
