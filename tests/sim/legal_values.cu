// Memory and registers of which only a part is written, and only that part is used.
using u32 = unsigned;
using u16 = unsigned short;
using u8 = unsigned char;

struct Mixed {
  u8 a;
  u16 b;
  u32 c;
  double d;
  u8 e;
};

// Padding goes through shared memory and back into it.
extern "C" __global__ void mixed_structures(u32* out, const u32* in, u32) {
  __shared__ Mixed items[32];
  Mixed one;
  one.a = static_cast<u8>(in[threadIdx.x]);
  one.b = static_cast<u16>(in[threadIdx.x] * 3);
  one.c = 7;
  one.d = in[threadIdx.x] * 0.5;
  one.e = 1;
  items[threadIdx.x] = one;
  __syncthreads();
  const Mixed other = items[31 - threadIdx.x];
  out[threadIdx.x] = other.a + other.b + other.c + static_cast<u32>(other.d) + other.e;
}

// The same into global memory.
struct Small {
  u8 kind;
  u32 value;
  u16 tail;
};
extern "C" __global__ void structures_to_global(u32* out, const u32* in, u32) {
  __shared__ Small items[8];
  if (threadIdx.x < 8) {
    items[threadIdx.x].kind = 1;
    items[threadIdx.x].value = in[threadIdx.x];
    items[threadIdx.x].tail = 2;
  }
  __syncthreads();
  Small* const to = reinterpret_cast<Small*>(out);
  if (threadIdx.x < 8) to[threadIdx.x] = items[7 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x >= 8 && threadIdx.x < 16) {
    const Small& one = to[threadIdx.x - 8];
    out[16 + threadIdx.x] = one.kind + one.value + one.tail;
  }
}

// Fields of a word are written one after the other.
struct Fields {
  u32 kind : 3;
  u32 level : 7;
  u32 rest : 22;
};
extern "C" __global__ void bit_fields(u32* out, const u32* in, u32 n) {
  __shared__ Fields shared[32];
  Fields local[4];
  shared[threadIdx.x].kind = in[threadIdx.x] % 8;
  for (u32 i = 0; i < 4; ++i) local[i * n % 4].kind = i;
  __syncwarp();  // spare: keeps the two stores apart
  shared[threadIdx.x].level = 100;
  for (u32 i = 0; i < 4; ++i) local[i * n % 4].level = 10 * i;
  __syncwarp();
  out[threadIdx.x] = shared[31 - threadIdx.x].kind + shared[31 - threadIdx.x].level +
                     local[in[threadIdx.x] % 4].kind + local[in[threadIdx.x] % 4].level;
}

// The lower half of a word is written everywhere, the upper one in some lanes.
extern "C" __global__ void halves_of_words(u32* out, const u32* in, u32 n) {
  __shared__ u16 halves[64];
  halves[2 * threadIdx.x] = static_cast<u16>(in[threadIdx.x]);
  if (threadIdx.x < n) halves[2 * threadIdx.x + 1] = 5;
  __syncwarp();  // spare: a thread reads what it wrote
  const u32 pair = reinterpret_cast<const u32*>(halves)[threadIdx.x];
  out[threadIdx.x] = (pair & 0xffff) + (threadIdx.x < n ? pair >> 16 : 0);
}

// Vectors of narrow elements, of which the last is never written.
extern "C" __global__ void narrow_vectors(u32* out, const u32* in, u32) {
  __shared__ ushort4 wide[32];
  __shared__ u8 bytes[128];
  ushort4 one;
  one.x = static_cast<u16>(in[threadIdx.x]);
  one.y = 2;
  one.z = 3;
  wide[threadIdx.x] = one;
  for (u32 i = 0; i < 3; ++i) bytes[threadIdx.x * 4 + i] = static_cast<u8>(in[threadIdx.x] + i);
  __syncwarp();
  const ushort4 other = wide[31 - threadIdx.x];
  const uchar4 narrow = reinterpret_cast<const uchar4*>(bytes)[31 - threadIdx.x];
  out[threadIdx.x] = other.x + other.y + other.z + narrow.x + narrow.y + narrow.z;
}

// Words never written are staged like the others, and nobody uses them.
extern "C" __global__ void staged_beyond_the_data(u32* out, const u32* in, u32 n) {
  __shared__ u32 first[32];
  __shared__ u32 second[32];
  if (threadIdx.x < n) first[threadIdx.x] = in[threadIdx.x];
  __syncwarp();  // spare: a thread reads what it wrote
  second[threadIdx.x] = first[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = threadIdx.x < n ? second[n - 1 - threadIdx.x] : 0;
}

// Three numbers in the place of four.
extern "C" __global__ void three_of_four(u32* out, const u32* in, u32) {
  uint4 one;
  one.x = in[threadIdx.x];
  one.y = 2;
  one.z = 3;
  if (threadIdx.x < 4) reinterpret_cast<uint4*>(out)[threadIdx.x] = one;
}

// What a function returns holds a value only when it says so.
struct Perhaps {
  u32 value;
  bool present;
};
__device__ __noinline__ Perhaps perhaps(u32 word) {
  Perhaps result;
  result.present = word % 2 == 1;
  if (result.present) result.value = word;
  return result;
}
__device__ __noinline__ bool find(u32* place, const u32* in, u32 wanted) {
  for (u32 i = 0; i < 32; ++i)
    if (in[i] == wanted) {
      *place = i;
      return true;
    }
  return false;
}
extern "C" __global__ void results_in_parts(u32* out, const u32* in, u32 n) {
  const Perhaps one = perhaps(in[threadIdx.x]);
  u32 place;
  const bool found = find(&place, in, in[threadIdx.x] * n);
  out[threadIdx.x] = (one.present ? one.value : 0) + (found ? place : 100);
}

// The largest so far, from nothing.
extern "C" __global__ void best_of_some(u32* out, const u32* in, u32 n) {
  u32 best;
  bool any = false;
  for (u32 i = 0; i < n; ++i) {
    const u32 word = in[(threadIdx.x + i) % 32];
    if (word % 3 != 0) continue;
    if (!any || word > best) best = word;
    any = true;
  }
  out[threadIdx.x] = any ? best : 0;
}
