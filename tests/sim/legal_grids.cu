// Code between blocks that looks suspicious and is right.
using u32 = unsigned;
using u64 = unsigned long long;

// A barrier of the grid by hand. out: [0] count, [1..] one word a block, then one result a block.
extern "C" __global__ void grid_sync(u32* out, const u32* in, u32) {
  u32* const words = out + 1;
  if (threadIdx.x == 0) words[blockIdx.x] = in[blockIdx.x];
  __threadfence();
  __syncthreads();  // spare: thread 0 does it all
  if (threadIdx.x == 0) {
    atomicAdd(out, 1u);
    while (*static_cast<volatile u32*>(out) < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();  // spare
  if (threadIdx.x == 0) words[gridDim.x + blockIdx.x] = words[gridDim.x - 1 - blockIdx.x];
}

// Decoupled look-back: inclusive scan of one value a block. out: [0] ticket, [1] unused, then pairs (state,
// value) of 64 bits a block, then results.
extern "C" __global__ void look_back(u32* out, const u32* in, u32) {
  __shared__ u32 ticket;
  if (threadIdx.x == 0) ticket = atomicAdd(out, 1u);
  __syncthreads();  // spare: thread 0 does it all
  volatile u64* const states = reinterpret_cast<u64*>(out) + 1;
  if (threadIdx.x == 0) {
    const u32 value = in[ticket];
    states[ticket] = (u64{1} << 32) | value;  // its own value
    u32 sum = value;
    for (int at = static_cast<int>(ticket) - 1; at >= 0;) {
      const u64 state = states[at];
      if (state >> 32 == 0) continue;
      sum += static_cast<u32>(state);
      if (state >> 32 == 2) break;
      --at;
    }
    states[ticket] = (u64{2} << 32) | sum;  // all up to it
    out[2 + 2 * gridDim.x + ticket] = sum;
  }
}

// Look-back with the value beside the state: fences order them.
extern "C" __global__ void look_back_fenced(u32* out, const u32* in, u32) {
  volatile u32* const states = out + 1;
  u32* const sums = out + 1 + gridDim.x;
  const u32 ticket = atomicAdd(out, 1u);
  u32 sum = in[ticket];
  if (ticket > 0) {
    while (states[ticket - 1] == 0) {
    }
    __threadfence();
    sum += sums[ticket - 1];
  }
  sums[ticket] = sum;
  __threadfence();
  states[ticket] = 1;
}

// As CUDA's guide has it: partial sums are volatile and only the writer fences.
extern "C" __global__ void guide_reduction(u32* out, const u32* in, u32) {
  __shared__ bool last;
  volatile u32* const partial = out + 2;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = in[blockIdx.x];
    __threadfence();  // spare: volatile accesses do not race, they are only late
    last = atomicInc(out + 1, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    u32 sum = 0;
    for (u32 i = 0; i < gridDim.x; ++i) sum += partial[i];
    out[0] = sum;
  }
}

// The first block waits for the last one with atomics, and the last for the first with acquire loads.
extern "C" __global__ void poll_with_atomics(u32* out, const u32* in, u32) {
  if (blockIdx.x == 0) {
    while (atomicAdd(out, 0u) == 0) {
    }
    __threadfence();
    out[2] = out[1] + 1;
    asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(out + 3) : "memory");
  } else {
    out[1] = in[0];
    __threadfence();
    atomicExch(out, 1u);
    u32 seen = 0;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(out + 3) : "memory");
    while (seen == 0);
    out[4] = out[2] + 1;
  }
}

// A lock from an acquiring compare-and-swap and a releasing store. out: [0] lock, [1] sum.
extern "C" __global__ void acquire_lock(u32* out, const u32* in, u32) {
  if (threadIdx.x == 0) {
    u32 old = 1;
    while (old != 0)
      asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(out) : "memory");
    out[1] += in[blockIdx.x];
    asm volatile("st.release.gpu.global.u32 [%0], 0;" ::"l"(out) : "memory");
  }
}

// A chain of counters: each block adds to what the one before it left, through a releasing reduction.
extern "C" __global__ void release_chain(u32* out, const u32* in, u32) {
  u32 seen = 0;
  do asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(out) : "memory");
  while (seen != blockIdx.x);
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  out[2 + blockIdx.x] = in[blockIdx.x] + (blockIdx.x > 0 ? out[1 + blockIdx.x] : 0);
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(out) : "memory");
}

// Cache operators change nothing.
extern "C" __global__ void cache_operators(u32* out, const u32* in, u32) {
  const u32 i = threadIdx.x;
  __stcg(out + i, __ldg(in + i) + __ldcg(in + i));
  __stcs(out + 32 + i, __ldcs(in + i) + __ldca(in + i));
  __stwt(out + 64 + i, __ldlu(in + i) + __ldcv(in + i));
}

// More warps than a launch may have turns.
extern "C" __global__ void many_blocks(u32* out, const u32* in, u32) {
  if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) out[0] = in[0];
}

// Atomics in the order of parts that NVRTC and <cuda/atomic> write, which is not the manual's.
extern "C" __global__ void atomic_forms(u32* out, const u32* in, u32) {
  u32 old;
  asm volatile("atom.add.relaxed.gpu.u32 %0, [%1], %2;" : "=r"(old) : "l"(out), "r"(in[0]) : "memory");
  asm volatile("atom.or.sys.b32 %0, [%1], 8;" : "=r"(old) : "l"(out + 1) : "memory");
  asm volatile("atom.cas.acq_rel.sys.b32 %0, [%1], 0, 5;" : "=r"(old) : "l"(out + 2) : "memory");
  atomicMax_system(out + 3, in[blockIdx.x]);
  atomicAdd_block(out + 4 + blockIdx.x, in[threadIdx.x]);
}

// Blocks take tickets and are served in that order. out: [0] next ticket, [1] who is served, [2] sum.
extern "C" __global__ void ticket_lock(u32* out, const u32* in, u32) {
  const u32 ticket = atomicAdd(out, 1u);
  while (*static_cast<volatile u32*>(out + 1) != ticket) {
  }
  __threadfence();
  out[2] += in[blockIdx.x];
  __threadfence();
  *static_cast<volatile u32*>(out + 1) = ticket + 1;
}

// Block 0 writes for block 2, and block 1 hands it on. out: [0], [1] flags, [2] data, [3] what came.
extern "C" __global__ void hand_on(u32* out, const u32* in, u32) {
  volatile u32* const flags = out;
  if (blockIdx.x == 0) {
    out[2] = in[0] + 6;
    __threadfence();
    flags[0] = 1;
  } else if (blockIdx.x == 1) {
    while (flags[0] == 0) {
    }
    __threadfence();
    flags[1] = 1;
  } else {
    while (flags[1] == 0) {
    }
    __threadfence();
    out[3] = out[2];
  }
}

// All threads of block 0 write, and one says so; one of block 1 sees it, and all read. out: [0] flag, then
// what was written, then what was read.
extern "C" __global__ void fence_of_one(u32* out, const u32* in, u32) {
  u32* const data = out + 1;
  if (blockIdx.x == 0) {
    data[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("fence.acq_rel.gpu;" ::: "memory");
      asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(out) : "memory");
    }
  } else {
    if (threadIdx.x == 0) {
      u32 seen = 0;
      do asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(out) : "memory");
      while (seen == 0);
      asm volatile("fence.acq_rel.gpu;" ::: "memory");
    }
    __syncthreads();
    data[64 + threadIdx.x] = data[63 - threadIdx.x];
  }
}

// The same with fence.sc of every thread: they are ordered with each other, past the barriers.
extern "C" __global__ void fences_of_all(u32* out, const u32* in, u32) {
  u32* const data = out + 1;
  if (blockIdx.x == 0) {
    data[threadIdx.x] = in[threadIdx.x];
    asm volatile("fence.sc.gpu;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) *static_cast<volatile u32*>(out) = 1;
  } else {
    if (threadIdx.x == 0)
      while (*static_cast<volatile u32*>(out) == 0) {
      }
    __syncthreads();
    asm volatile("fence.sc.gpu;" ::: "memory");
    data[64 + threadIdx.x] = data[63 - threadIdx.x];
  }
}

// A barrier of the grid as cuda::barrier does it: releasing arrivals, acquiring polls, twice. out: [0] count,
// then 64 words a block.
extern "C" __global__ void release_barrier(u32* out, const u32* in, u32) {
  u32* const own = out + 1 + 64 * blockIdx.x;
  const u32* const next = out + 1 + 64 * ((blockIdx.x + 1) % gridDim.x);
  own[threadIdx.x] = in[threadIdx.x] + blockIdx.x;
  u32 value = 0;
  for (u32 turn = 1; turn <= 2; ++turn) {
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(out) : "memory");
      u32 seen = 0;
      do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(out) : "memory");
      while (seen < turn * gridDim.x);
    }
    __syncthreads();
    if (turn == 1) value = next[63 - threadIdx.x];
  }
  own[threadIdx.x] = value;
}

// Every value that is kept gets a place of its own from a counter; plain stores go there.
extern "C" __global__ void places(u32* out, const u32* in, u32) {
  const u32 value = in[blockIdx.x * blockDim.x + threadIdx.x];
  if (value % 4 != 0) return;
  const u32 at = atomicAdd(out, 1u);
  out[1 + at] = 7;
}
