// Reads of shared memory at a stride, of 4, 16 and 8 bytes: how many wavefronts they take is recorded from a
// GPU.
extern "C" __global__ void strided(float* out, int stride, int vector_stride) {
  __shared__ alignas(16) float words[32 * 33 * 4];
  for (int i = threadIdx.x; i < 32 * 33 * 4; i += 32) words[i] = i;
  __syncthreads();
  out[threadIdx.x] = words[threadIdx.x * stride];
  float4 four = reinterpret_cast<float4*>(words)[threadIdx.x * vector_stride % 1000];
  out[threadIdx.x + 32] = four.x + four.y + four.z + four.w;
  float2 two = reinterpret_cast<float2*>(words)[threadIdx.x * vector_stride % 2000];
  out[threadIdx.x + 64] = two.x + two.y;
}
