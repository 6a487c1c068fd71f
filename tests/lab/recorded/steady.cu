/* gpuforge:
summary: a copy after ROUNDS multiplications by one; its time grows with ROUNDS and its result does not
operands:
  out: out T [N]
  x: in T [N]
kernel: steady
parameters: [out, x, N, 1]
grid: ceil_div(N, 256)
block: 256
dtypes: f32
tunables: {ROUNDS: 1000}
check_shapes: [1000, 4194304]
tolerance: exact
reference: {kernel: plain_copy, parameters: [out, x, N], dtype: same}
*/
__global__ void steady(T* out, const T* x, int n, int one) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value = x[i];
  const float factor = one;  // the compiler does not know it
#pragma unroll 10
  for (int k = 0; k < ROUNDS; ++k) value *= factor;
  out[i] = value;
}
__global__ void plain_copy(T* out, const T* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i];
}
