// out[row] = sum of in[row][...] for a row-major matrix of f32.
// One warp per row: each lane adds every 32nd element, then five shuffles fold the 32 partial sums. 32 x 8
// threads take eight rows. Grid: rows / 8, rounded up. Reads 4 bytes per element.
constexpr int kWarp = 32;

extern "C" __global__ void row_sum(float* out, const float* in, int rows, int columns) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;  // the same answer for a whole warp

  const float* values = in + static_cast<long long>(row) * columns;
  float sum = 0.0f;
  for (int first = 0; first < columns; first += kWarp) {  // as often for each lane: the warp stays whole
    int column = first + threadIdx.x;
    if (column < columns) sum += values[column];
  }
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(0xffffffffu, sum, distance);
  }
  if (threadIdx.x == 0) out[row] = sum;
}
