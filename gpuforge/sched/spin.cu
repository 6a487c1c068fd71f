// A kernel that does nothing for a given time: the stand-in for work in workload files.
namespace gpuforge {

// Launched with no more blocks than fit at once, so that all of them spin at the same time.
__global__ void spin(unsigned long long nanoseconds) {
  unsigned long long start;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  unsigned long long now = start;
  while (now - start < nanoseconds) asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
}

}  // namespace gpuforge
