// What sim_bench runs: kernels that are nearly all of one kind. Their instruction counts are per thread and
// step.

// Multiply-adds in four chains, and integer mixing; no memory but one store at the end.
extern "C" __global__ void arithmetic(float* out, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = i * 0.001f, b = 1.0f, c = 0.5f, d = 0.25f;
  unsigned x = i, y = 7;
  for (int step = 0; step < steps; ++step) {
    a = a * 0.999f + 0.1f;
    b = b * a + c;
    c = c * 0.5f + d;
    d = d * 0.25f + a;
    x = x * 1664525u + 1013904223u;
    y ^= x >> 7;
    y += x << 3;
  }
  out[i] = a + b + c + d + x + y;
}

// Each lane follows its own path through `in`: every load touches 32 sectors.
extern "C" __global__ void scattered(unsigned* out, const unsigned* in, int n, int steps) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned at = i * 2654435761u % n, sum = 0;
  for (int step = 0; step < steps; ++step) {
    sum += in[at];
    at = (at * 1664525u + 1013904223u) % n;
  }
  out[i] = sum;
}
