// Plain kernels that do nothing but move bytes: what a device can do at best with a given mix of reads and
// writes. Every thread has kUnits * kReads loads of 16 bytes in flight before it stores anything.
namespace gpuforge {

struct alignas(16) Sixteen {
  unsigned x, y, z, w;
};

// Unit i reads in[k * units + i] for each k < kReads and writes out[k * units + i] for each k < kWrites: each
// stream of its own runs through memory once. Launched with as many threads as units / kUnits, or fewer.
template <int kReads, int kWrites, int kUnits>
__global__ void __launch_bounds__(256) move_bytes(Sixteen* out, const Sixteen* in, long long units) {
  const long long tile = 256LL * kUnits;
  const long long step = gridDim.x * tile;
  Sixteen sum = {1, 2, 3, 4};
  for (long long first = blockIdx.x * tile + threadIdx.x; first < units; first += step) {
    Sixteen read[kUnits][kReads > 0 ? kReads : 1];
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
      const long long i = first + u * 256LL;
#pragma unroll
      for (int k = 0; k < kReads; ++k) {
        if (i < units) read[u][k] = in[k * units + i];
      }
    }
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
      const long long i = first + u * 256LL;
      if (i >= units) continue;
        // What was read must matter, or the compiler would not read it.
#pragma unroll
      for (int k = 0; k < kReads; ++k) {
        sum.x ^= read[u][k].x;
        sum.y ^= read[u][k].y;
        sum.z ^= read[u][k].z;
        sum.w ^= read[u][k].w;
      }
#pragma unroll
      for (int k = 0; k < kWrites; ++k) out[k * units + i] = sum;
    }
  }
  if (kWrites == 0 && (sum.x ^ sum.y ^ sum.z ^ sum.w) == 0x5eed1e55u) out[threadIdx.x] = sum;
}

}  // namespace gpuforge
