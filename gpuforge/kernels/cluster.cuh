// Blocks of a cluster that send values into each other's shared memory, and barriers that count the bytes
// which arrive there. SM 90 and newer, NVRTC alone; what does not call these compiles for every chip.
#pragma once

namespace gpuforge::cluster {

// For __launch_bounds__: so many blocks that a multiprocessor has 1024 threads, with 64 registers each, or
// 1536 with 40 where that is enough: for rows without edges (kWhole), of which little is held. While one
// waits for the others of its cluster, another one has memory busy. 0 (not a word about it, where 1 would
// allow more registers) without a cluster, and on chips whose shared memory has no room for two.
template <int kThreads, int kCluster, int kHeldBytes, bool kWhole, int kSharedBytes = 0>
constexpr int kBlocksBeside =
    kCluster == 1 || (kSharedBytes > 32 * 1024 && __CUDA_ARCH__ >= 1200)
        ? 0
        : (kHeldBytes <= 64 && kWhole && __CUDA_ARCH__ == 900 && kThreads <= 512 ? 1536 : 1024) / kThreads;

// Of this block among those of its cluster.
__device__ inline int rank() {
  unsigned result;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(result));
  return static_cast<int>(result);
}

__device__ inline unsigned shared_address(const void* object) {
  return static_cast<unsigned>(__cvta_generic_to_shared(object));
}

// Bytes that will arrive in this block's shared memory, in one phase after another: of each, one thread says
// how many. One thread makes it. The block's threads that know it to be made wait, with wait_for() for what
// other blocks send and with wait_for_copy() for what this one copies, `parity` being that of the phase: 0
// for the first.
using Arrivals = unsigned long long;
__device__ inline void make(Arrivals* arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(shared_address(arrivals)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");  // for other blocks
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");        // for copies
}
__device__ inline void expect(Arrivals* arrivals, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(shared_address(arrivals)), "r"(bytes)
               : "memory");
}
__device__ inline void wait_for(const Arrivals* arrivals, unsigned parity = 0) {
  unsigned done;
  do {
    asm volatile(
        "{ .reg .pred done; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%1], %2; "
        "selp.u32 %0, 1, 0, done; }"
        : "=r"(done)
        : "r"(shared_address(arrivals)), "r"(parity)
        : "memory");
  } while (done == 0);
}

__device__ inline void wait_for_copy(const Arrivals* arrivals, unsigned parity = 0) {
  unsigned done;
  do {
    asm volatile(
        "{ .reg .pred done; mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2; "
        "selp.u32 %0, 1, 0, done; }"
        : "=r"(done)
        : "r"(shared_address(arrivals)), "r"(parity)
        : "memory");
  } while (done == 0);
}

// All blocks are there, and have made what they expect: every thread of each calls begin() after that, and
// meet() before the first send(). Whole warps call them.
__device__ inline void begin() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ inline void meet() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// `value` goes where `slot`, of this block's shared memory, lies in that of block `to`, whose `arrivals`
// count it. That block ends when it has everything; this one may end before.
template <typename T>
__device__ inline void send(T* slot, Arrivals* arrivals, int to, const T& value) {
  static_assert((sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16) && alignof(T) == sizeof(T),
                "a word, two or four");
  unsigned address, barrier;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(slot)), "r"(to));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(barrier) : "r"(shared_address(arrivals)), "r"(to));
  const auto* const words = reinterpret_cast<const unsigned*>(&value);
  if constexpr (sizeof(T) == 4) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                 :
                 : "r"(address), "r"(words[0]), "r"(barrier)
                 : "memory");
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];"
                 :
                 : "r"(address), "r"(words[0]), "r"(words[1]), "r"(barrier)
                 : "memory");
  } else {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
                 :
                 : "r"(address), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(barrier)
                 : "memory");
  }
}

// `bytes`, a multiple of 16, from global to this block's shared memory, where `arrivals` count them.
__device__ inline void copy(unsigned to, const void* from, unsigned bytes, Arrivals* arrivals) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :
               : "r"(to), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(arrivals))
               : "memory");
}

}  // namespace gpuforge::cluster
