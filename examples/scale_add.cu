/* gpuforge:
summary: out = 2 x + y
operands:
  out: out f32 [N]
  x: in f32 [N]
  y: in f32 [N]
kernel: scale_add
parameters: [out, x, y, N]
grid: ceil_div(N, 256)
block: 256
dtypes: [f32]
cost: {flops: 2 * N}
reference:
  kernel: scale_add_reference
  dtype: same
  grid: 1
  block: 1
*/

// A kernel file as check, bench and sched take it. One element per thread; moves 12 bytes per element.
extern "C" __global__ void scale_add(float* out, const float* x, const float* y, long long n) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2.0f * x[i] + y[i];
}

extern "C" __global__ void scale_add_reference(float* out, const float* x, const float* y, long long n) {
  for (long long i = 0; i < n; ++i) out[i] = 2.0f * x[i] + y[i];
}
