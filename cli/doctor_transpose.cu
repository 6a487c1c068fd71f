// doctor's self-test: out[x][y] = in[y][x] through a tile of shared memory, padded by one against bank
// conflicts. in is rows x columns, out columns x rows, both row-major; blocks of 32 x 8 threads, one 32 x 32
// tile each.
extern "C" __global__ void doctor_transpose(float* out, const float* in, int rows, int columns) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x;
  int y = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) {
    if (x < columns && y + i < rows) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * columns + x];
  }
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) {
    if (x < rows && y + i < columns) out[(y + i) * rows + x] = tile[threadIdx.x][threadIdx.y + i];
  }
}
