// Two stamps of one multiprocessor, before and after some work, give the clock it really ran at.
namespace gpuforge {

struct ClockStamp {
  unsigned taken;  // set to 0 before the launch
  unsigned unused;
  unsigned long long cycles;
  unsigned long long nanoseconds;
};

// Launched with more blocks than there are multiprocessors; the first block that lands on number 0 writes.
// Cycle counters of different multiprocessors have nothing in common.
__global__ void stamp_clock(ClockStamp* stamp) {
  unsigned here;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
  if (threadIdx.x != 0 || here != 0 || atomicExch(&stamp->taken, 1u) != 0) return;
  unsigned long long nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  stamp->cycles = static_cast<unsigned long long>(clock64());
  stamp->nanoseconds = nanoseconds;
}

}  // namespace gpuforge
