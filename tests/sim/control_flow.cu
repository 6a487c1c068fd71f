// Lanes that part in every way a program can: switches, loops, calls through tables, recursion, ends.
using u32 = unsigned;

// A jump table in a loop, with every way out of a case.
extern "C" __global__ void switches(u32* out, const u32* in, u32 n) {
  const u32 x = in[threadIdx.x];
  u32 value = 0;
  for (u32 i = 0; i < x % 11 + n; ++i) {
    switch ((x * 7 + i * 5 + value) % 12) {
      case 0:
        value += 3;
        break;
      case 1:
        value *= 5;
        break;
      case 2:
        value ^= x;
        [[fallthrough]];
      case 3:
        value += i;
        break;
      case 4:
        if (value % 2 == 1) continue;
        value += 11;
        break;
      case 5:
        value -= x;
        break;
      case 6:
        value = value * 3 + 1;
        break;
      case 7:
        value += __ballot_sync(__activemask(), value % 2 == 1) >> (threadIdx.x % 32) & 1;
        break;
      case 8:
        value += __any_sync(__activemask(), value > 0xffff) ? 1000 : 2;
        break;
      case 9:
        if (i > 6) {
          out[threadIdx.x] = value;
          return;
        }
        value += 9;
        break;
      case 10:
        value <<= 1;
        break;
      default:
        goto done;
    }
    value &= 0xffff;
  }
done:
  out[threadIdx.x] = value + 100000;
}

// Functions behind a table: one returns from a loop, one ends the thread, two call each other.
__device__ __noinline__ u32 out_of_loop(u32 x, u32*) {
  for (u32 i = 0; i < 10; ++i)
    if (i * i >= x) return i * 100;
  return 7;
}
__device__ __noinline__ u32 ends(u32 x, u32* own) {
  if (x % 2 == 1) {
    *own = 500 + x;
    asm volatile("exit;");
  }
  return x * 2;
}
__device__ u32 pong(u32 x, u32* own);
__device__ __noinline__ u32 ping(u32 x, u32* own) {
  return x < 3 ? 7 : pong(x - 3, own) + 1;
}
__device__ __noinline__ u32 pong(u32 x, u32* own) {
  return x < 2 ? 3 : ping(x - 2, own) + 10;
}
__device__ u32 (*const functions[])(u32, u32*) = {out_of_loop, ends, ping, pong};

extern "C" __global__ void function_table(u32* out, const u32* in, u32) {
  const u32 x = in[threadIdx.x];
  u32 value = 0;
  for (u32 i = 0; i < x % 4 + 1; ++i)
    value = value * 7 + functions[(x + i * (x / 8)) % 4](x, out + threadIdx.x);
  out[threadIdx.x] = value;
}

// Lanes at depths of their own, twice over.
__device__ u32 fibonacci(u32 n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
extern "C" __global__ void recursion(u32* out, const u32* in, u32 n) {
  out[threadIdx.x] = fibonacci(in[threadIdx.x] % n);
}

// A shuffle that lanes meet in from two activations of a function and from the loop that calls it.
__device__ __noinline__ u32 exchanged(u32 value, u32 other) {
  return __shfl_xor_sync(0xffffffffu, value, other) + 1;
}
extern "C" __global__ void exchange_in_function(u32* out, const u32* in, u32 n) {
  u32 value = in[threadIdx.x];
  for (u32 i = 0; i < n; ++i) {
    if ((threadIdx.x + i) % 3 == 0)
      value = exchanged(value * 3, 1);
    else if ((threadIdx.x + i) % 3 == 1)
      value = exchanged(value + 5, 1);
    else
      value = __shfl_xor_sync(0xffffffffu, value ^ 9, 1) + 2;
  }
  out[threadIdx.x] = value;
}

// A lane waits for a flag that another of its warp sets.
extern "C" __global__ void flag_in_warp(u32* out, const u32* in, u32) {
  __shared__ u32 value;
  __shared__ volatile u32 flag;
  if (threadIdx.x == 0) flag = 0;
  __syncwarp();  // spare: without it the flag is read as zero, too
  if (threadIdx.x < 16) {
    while (flag == 0) {
    }
    __threadfence_block();
    out[threadIdx.x] = value;
  } else if (threadIdx.x == 31) {
    value = in[31];
    __threadfence_block();
    flag = 1;
  }
}
