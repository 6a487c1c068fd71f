// out[column][row] = in[row][column] for a row-major matrix of f32.
// Each block moves one 32 x 32 tile through shared memory, so that reads and writes both run along rows; 32 x
// 8 threads take four rows each. Grid: (columns / 32, rows / 32), rounded up. Moves 8 bytes per element.
constexpr int kTile = 32;
constexpr int kBlockRows = 8;

extern "C" __global__ void tiled_transpose(float* out, const float* in, int rows, int columns) {
  // The extra column puts the elements of a tile's column into different banks.
  __shared__ float tile[kTile][kTile + 1];

  int column = blockIdx.x * kTile + threadIdx.x;
  int row = blockIdx.y * kTile + threadIdx.y;
  for (int step = 0; step < kTile; step += kBlockRows) {
    if (row + step < rows && column < columns) {
      tile[threadIdx.y + step][threadIdx.x] = in[static_cast<long long>(row + step) * columns + column];
    }
  }
  __syncthreads();

  int out_column = blockIdx.y * kTile + threadIdx.x;
  int out_row = blockIdx.x * kTile + threadIdx.y;
  for (int step = 0; step < kTile; step += kBlockRows) {
    if (out_row + step < columns && out_column < rows) {
      out[static_cast<long long>(out_row + step) * rows + out_column] = tile[threadIdx.x][threadIdx.y + step];
    }
  }
}
