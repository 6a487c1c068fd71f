// out[j, i] = x[i, j] for views of any strides (in elements). Reads and writes every element once: 2 *
// sizeof(T) bytes, no arithmetic. Elements only move, so T is an unsigned integer of their size.
namespace gpuforge {

struct Matrix {
  long long rows;  // of x
  long long columns;
  long long x_row;  // strides
  long long x_column;
  long long out_row;
  long long out_column;
};

// A thread an element: reads run along the rows of x, so writes are a row apart from each other.
template <typename T>
__global__ void __launch_bounds__(256) transpose_naive(T* out, const T* x, Matrix m) {
  const long long count = m.rows * m.columns;
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; at < count; at += step) {
    const long long i = at / m.columns;
    const long long j = at % m.columns;
    out[j * m.out_row + i * m.out_column] = x[i * m.x_row + j * m.x_column];
  }
}

// A block moves kTile x kTile elements through shared memory, so that reads and writes both run along rows.
// The extra column puts the elements of a column into different banks. Block: kTile x kRows threads.
template <typename T, int kTile, int kRows>
__global__ void __launch_bounds__(kTile* kRows) transpose_tiled(T* out, const T* x, Matrix m) {
  __shared__ T tile[kTile][kTile + 1];
  const long long tiles_across = (m.columns + kTile - 1) / kTile;
  const long long first_row = blockIdx.x / tiles_across * kTile;
  const long long first_column = blockIdx.x % tiles_across * kTile;

  const long long j = first_column + threadIdx.x;
  for (int row = threadIdx.y; row < kTile; row += kRows) {
    const long long i = first_row + row;
    if (i < m.rows && j < m.columns) tile[row][threadIdx.x] = x[i * m.x_row + j * m.x_column];
  }
  __syncthreads();
  const long long i = first_row + threadIdx.x;
  for (int column = threadIdx.y; column < kTile; column += kRows) {
    const long long out_j = first_column + column;
    if (i < m.rows && out_j < m.columns)
      out[out_j * m.out_row + i * m.out_column] = tile[threadIdx.x][column];
  }
}

}  // namespace gpuforge
