// What blocks that come later will read is brought to the L2 cache early: memory has something to do while
// the threads of a row wait for each other. SM 90 and newer; elsewhere this does nothing.
#pragma once

namespace gpuforge {

// `bytes` that begin at `from`, without those at the ends that are no whole 16: for one thread to call, long
// before somebody reads them.
__device__ inline void bring_to_l2(const void* from, long long bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  const auto address = reinterpret_cast<unsigned long long>(from);
  const unsigned long long begin = (address + 15) & ~15ull;
  const unsigned long long end = (address + static_cast<unsigned long long>(bytes)) & ~15ull;
  if (begin >= end) return;
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;"
               :
               : "l"(__cvta_generic_to_global(reinterpret_cast<const void*>(begin))),
                 "r"(static_cast<unsigned>(end - begin))
               : "memory");
#endif
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
constexpr bool kLoadsInPassing = true;
#else
constexpr bool kLoadsInPassing = false;
#endif
// 16 bytes, aligned, that nobody reads again: the L2 cache gives them up as if they had only been brought.
// For chips of which kLoadsInPassing is true.
__device__ inline void load_in_passing(unsigned (&words)[4], const void* from) {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_unchanged.b64 %0;" : "=l"(policy));
  asm volatile("ld.global.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "l"(__cvta_generic_to_global(from)), "l"(policy));
}

}  // namespace gpuforge
