// Races between blocks: missing fences, scopes that are too small, polls that are not.
using u32 = unsigned;

// The last block to finish adds what all blocks left. out: [0] result, [1] tickets, [2..] partial sums.
template <bool kBug>
__global__ void last_block(u32* out, const u32* in, u32) {
  __shared__ bool last;
  u32* const partial = out + 2;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = in[blockIdx.x] * 10;  // BUG(last_block): race@global
    if constexpr (!kBug) __threadfence();
    last = atomicAdd(out + 1, 1u) == gridDim.x - 1;
    if constexpr (!kBug) __threadfence();
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    u32 sum = 0;
    for (u32 i = 0; i < gridDim.x; ++i) sum += partial[i];  // BUG(last_block): race@global
    out[0] = sum;
  }
}

// Block 0 hands 32 words to block 1. out: [0] flag, [1] unused, [2..33] data, [34..65] what block 1 read.
template <bool kBug>
__global__ void hand_off(u32* out, const u32* in, u32) {
  volatile u32* const flag = out;
  u32* const data = out + 2;
  if (blockIdx.x == 0) {
    data[threadIdx.x] = in[threadIdx.x];  // BUG(hand_off): race@global
    if constexpr (!kBug) __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *flag = 1;
  } else {
    if (threadIdx.x == 0)
      while (*flag == 0) {
      }
    __syncthreads();
    if constexpr (!kBug) __threadfence();
    out[34 + threadIdx.x] = data[31 - threadIdx.x];  // BUG(hand_off): race@global
  }
}

// A fence for the block, where the reader is in another.
template <bool kBug>
__global__ void small_fence(u32* out, const u32* in, u32) {
  volatile u32* const flag = out;
  u32* const data = out + 2;
  if (blockIdx.x == 0) {
    data[0] = in[0];  // BUG(small_fence): race@global
    kBug ? __threadfence_block() : __threadfence();
    *flag = 1;
  } else {
    while (*flag == 0) {
    }
    kBug ? __threadfence_block() : __threadfence();
    out[1] = data[0];  // BUG(small_fence): race@global
  }
}

// Each block adds 1 under a lock. out: [0] lock, [1] the sum.
template <bool kBug>
__global__ void spin_lock(u32* out, const u32*, u32) {
  while (atomicCAS(out, 0u, 1u) != 0) {
  }
  if constexpr (!kBug) __threadfence();
  out[1] += 1;  // BUG(spin_lock): race@global
  if constexpr (!kBug) __threadfence();
  atomicExch(out, 0u);
}

// The flag is polled with plain loads. out: [0] flag, [1] result, [2] data.
template <bool kBug>
__global__ void plain_poll(u32* out, const u32* in, u32) {
  if (blockIdx.x == 0) {
    out[2] = in[0];  // BUG(plain_poll): race@global
    __threadfence();
    if constexpr (kBug)
      out[0] = 1;  // BUG(plain_poll): race@global
    else
      *static_cast<volatile u32*>(out) = 1;
  } else {
    for (u32 seen = 0; seen == 0;) {
      if constexpr (kBug)
        // BUG(plain_poll): race@global step_limit?
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(seen) : "l"(out) : "memory");
      else
        seen = *static_cast<volatile u32*>(out);
    }
    __threadfence();
    out[1] = out[2];  // BUG(plain_poll): race@global
  }
}

// atomicAdd of block scope by two blocks.
template <bool kBug>
__global__ void block_atomic(u32* out, const u32*, u32) {
  if constexpr (kBug)
    atomicAdd_block(out, 1u);  // BUG(block_atomic): race@global
  else
    atomicAdd(out, 1u);
}

// Every block stores its own number to one word.
template <bool kBug>
__global__ void same_word(u32* out, const u32* in, u32) {
  if (threadIdx.x == 0) out[0] = kBug ? blockIdx.x : in[0];  // BUG(same_word): race@global
}

// A block adds to what another block's atomics count.
template <bool kBug>
__global__ void plain_and_atomic(u32* out, const u32*, u32) {
  if (kBug && blockIdx.x == 1)
    out[0] += 1;  // BUG(plain_and_atomic): race@global
  else
    atomicAdd(out, 1u);  // BUG(plain_and_atomic): race@global
}

// Neighbours of one block exchange values through global memory.
template <bool kBug>
__global__ void exchange(u32* out, const u32* in, u32) {
  out[threadIdx.x] = in[threadIdx.x];  // BUG(exchange): race@global
  if constexpr (!kBug) __syncthreads();
  const u32 other = out[63 - threadIdx.x];  // BUG(exchange): race@global
  __syncthreads();
  out[threadIdx.x] = other;
}

// Release and acquire written out; with the bug the store releases nothing.
template <bool kBug>
__global__ void release(u32* out, const u32* in, u32) {
  if (blockIdx.x == 0) {
    out[2] = in[0];  // BUG(release): race@global
    if constexpr (kBug)
      asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(out) : "memory");
    else
      asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(out) : "memory");
  } else {
    u32 seen = 0;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(out) : "memory");
    } while (seen == 0);
    out[1] = out[2];  // BUG(release): race@global
  }
}

// The last block's reader does not fence: the atomic by itself acquires nothing.
template <bool kBug>
__global__ void reader_fence(u32* out, const u32* in, u32) {
  out[2 + blockIdx.x] = in[blockIdx.x];  // BUG(reader_fence): race@global
  __threadfence();
  const bool last = atomicAdd(out + 1, 1u) == gridDim.x - 1;
  if constexpr (!kBug) __threadfence();
  if (last) {
    u32 sum = 0;
    for (u32 i = 0; i < gridDim.x; ++i) sum += out[2 + i];  // BUG(reader_fence): race@global
    out[0] = sum;
  }
}

// A block reads what its neighbour writes in the same launch.
template <bool kBug>
__global__ void neighbour(u32* out, const u32* in, u32) {
  out[blockIdx.x] = in[blockIdx.x];  // BUG(neighbour): race@global
  if (kBug && blockIdx.x > 0)
    out[8 + blockIdx.x] = out[blockIdx.x - 1];  // BUG(neighbour): race@global
  else
    out[8 + blockIdx.x] = out[blockIdx.x];
}

// The reader is volatile, the writer is not.
template <bool kBug>
__global__ void plain_writer(u32* out, const u32* in, u32) {
  if (blockIdx.x == 0) {
    if constexpr (kBug)
      out[0] = in[0];  // BUG(plain_writer): race@global
    else
      *static_cast<volatile u32*>(out) = in[0];
  } else {
    const u32 seen = *static_cast<volatile u32*>(out);  // BUG(plain_writer): race@global
    out[1] = seen < 2 ? 1 : 0;
  }
}

// The lock is given back by a plain store.
template <bool kBug>
__global__ void plain_unlock(u32* out, const u32*, u32) {
  // BUG(plain_unlock): race@global
  while (atomicCAS(out, 0u, 1u) != 0) {
  }
  __threadfence();
  out[1] += 1;  // BUG(plain_unlock): race@global?
  __threadfence();
  if constexpr (kBug)
    out[0] = 0;  // BUG(plain_unlock): race@global
  else
    atomicExch(out, 0u);
}

// Block 1 hands on block 0's word to block 2 without a fence of its own: the fences of the others do not
// meet. out: [0], [1] flags, [2] data, [3] what came.
template <bool kBug>
__global__ void hand_on(u32* out, const u32* in, u32) {
  volatile u32* const flags = out;
  if (blockIdx.x == 0) {
    out[2] = in[0];  // BUG(hand_on): race@global
    __threadfence();
    flags[0] = 1;
  } else if (blockIdx.x == 1) {
    while (flags[0] == 0) {
    }
    if constexpr (!kBug) __threadfence();
    flags[1] = 1;
  } else {
    while (flags[1] == 0) {
    }
    __threadfence();
    out[3] = out[2];  // BUG(hand_on): race@global
  }
}

// A fence that is not fence.sc is its thread's alone: those of the other threads before the barrier do
// nothing for the flag that thread 0 writes behind it. out: [0] flag, [1] sum, [2..] data.
template <bool kBug>
__global__ void fence_before_barrier(u32* out, const u32* in, u32) {
  u32* const data = out + 2;
  if (blockIdx.x == 0) {
    data[threadIdx.x] = in[threadIdx.x];  // BUG(fence_before_barrier): race@global
    if constexpr (kBug) asm volatile("fence.acq_rel.gpu;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
      if constexpr (!kBug) asm volatile("fence.acq_rel.gpu;" ::: "memory");
      *static_cast<volatile u32*>(out) = 1;
    }
  } else if (threadIdx.x == 0) {
    while (*static_cast<volatile u32*>(out) == 0) {
    }
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    u32 sum = 0;
    for (u32 i = 0; i < 32; ++i) sum += data[i];  // BUG(fence_before_barrier): race@global
    out[1] = sum;
  }
}

// Release and acquire of the block's scope, and the reader is in another block.
template <bool kBug>
__global__ void block_release(u32* out, const u32* in, u32) {
  if (blockIdx.x == 0) {
    out[2] = in[0];  // BUG(block_release): race@global
    if constexpr (kBug)
      // BUG(block_release): race@global
      asm volatile("st.release.cta.global.u32 [%0], 1;" ::"l"(out) : "memory");
    else
      asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(out) : "memory");
  } else {
    u32 seen = 0;
    do {
      if constexpr (kBug)
        // BUG(block_release): race@global
        asm volatile("ld.acquire.cta.global.u32 %0, [%1];" : "=r"(seen) : "l"(out) : "memory");
      else
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(out) : "memory");
    } while (seen == 0);
    out[1] = out[2];  // BUG(block_release): race@global
  }
}

// A fence that only releases, where the reader has to acquire.
template <bool kBug>
__global__ void half_a_fence(u32* out, const u32* in, u32) {
  volatile u32* const flag = out;
  if (blockIdx.x == 0) {
    out[2] = in[0];  // BUG(half_a_fence): race@global
    asm volatile("fence.release.gpu;" ::: "memory");
    *flag = 1;
  } else {
    while (*flag == 0) {
    }
    if constexpr (kBug)
      asm volatile("fence.release.gpu;" ::: "memory");
    else
      asm volatile("fence.acquire.gpu;" ::: "memory");
    out[1] = out[2];  // BUG(half_a_fence): race@global
  }
}
