// Kernels that do not end well, and what they print.
using u32 = unsigned;

template <bool kBug>
__global__ void endless(u32* out, const u32*, u32) {
  volatile u32* const flag = out;
  if constexpr (kBug)
    // BUG(endless): step_limit
    while (*flag == 0) {
    }
  *flag = 2;
}

__device__ __noinline__ u32 depth(const u32* in, u32 n) {
  u32 words[16];  // makes the frame real
  for (u32 i = 0; i < 16; ++i) words[(i * 3 + n) % 16] = in[i % 4];
  // BUG(recursion): stack_overflow@local
  return n == 0 ? words[in[0] % 16] : depth(in, n - 1) + words[in[1] % 16];
}

template <bool kBug>
__global__ void recursion(u32* out, const u32* in, u32 n) {
  out[threadIdx.x] = depth(in, kBug ? 0xffffffffu : n);
}

template <bool kBug>
__global__ void assertion(u32* out, const u32* in, u32) {
  if (in[threadIdx.x] > (kBug ? 30 : 32))
    __assertfail("in[i] <= 30", "endings.cu", __LINE__, "assertion", 1);  // BUG(assertion): assertion
  out[threadIdx.x] = 1;
}

template <bool kBug>
__global__ void trap(u32* out, const u32* in, u32) {
  if (in[threadIdx.x] == (kBug ? 6 : 99)) __trap();  // BUG(trap): trap
  out[threadIdx.x] = 1;
}

extern "C" __global__ void print(u32* out, const u32* in, u32 n) {
  if (threadIdx.x < n)
    printf("%u: %d %s %.3f %c %llx %5u|%%\n", threadIdx.x, -static_cast<int>(in[threadIdx.x]), "text",
           in[threadIdx.x] / 4.0, 'x', 0x123456789abcull, in[threadIdx.x]);
  out[threadIdx.x] = 1;
}
