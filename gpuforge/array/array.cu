// Copies between views with conversion, fills and ranges. Every kernel is a grid-stride loop with 64-bit
// element counts and is bit-deterministic. convert_run and fill_range touch each byte once; the strided
// kernels walk in the order of the destination, so writes are neighbours whenever the destination is dense.
#include "gpuforge/kernels/element.cuh"

namespace gpuforge {

constexpr int kThreads = 256;
constexpr int kPack = 4;
constexpr int kMaxRank = 16;

struct Walk {
  long long extents[kMaxRank];
  long long to_strides[kMaxRank];
  long long from_strides[kMaxRank];
  int rank;
};

template <typename T>
struct Limits;
template <>
struct Limits<long long> {
  static constexpr long long kLowest = -0x7fffffffffffffffll - 1, kHighest = 0x7fffffffffffffffll;
};
template <>
struct Limits<int> {
  static constexpr long long kLowest = -0x80000000ll, kHighest = 0x7fffffffll;
};
template <>
struct Limits<short> {
  static constexpr long long kLowest = -0x8000, kHighest = 0x7fff;
};
template <>
struct Limits<signed char> {
  static constexpr long long kLowest = -0x80, kHighest = 0x7f;
};
template <>
struct Limits<unsigned char> {
  static constexpr long long kLowest = 0, kHighest = 0xff;
};

// Towards zero, saturating. The instruction's answer for NaN differs between types, so NaN is asked for by
// hand.
__device__ inline long long whole(double value) {
  long long result;
  asm("cvt.rzi.s64.f64 %0, %1;" : "=l"(result) : "d"(value));
  return value != value ? 0 : result;
}
__device__ inline long long whole(float value) {
  long long result;
  asm("cvt.rzi.s64.f32 %0, %1;" : "=l"(result) : "f"(value));
  return value != value ? 0 : result;
}
__device__ inline long long whole(int value) {
  return value;
}
__device__ inline long long whole(long long value) {
  return value;
}

// The rules of gpuforge/base/convert.h.
template <typename To>
struct Converted {
  template <typename From>
  __device__ static To from(From value) {
    if constexpr (kIsNarrow<To>) {
      return To(number(value));
    } else {
      const long long exact = whole(number(value));
      constexpr long long kLowest = Limits<To>::kLowest, kHighest = Limits<To>::kHighest;
      return static_cast<To>(exact < kLowest ? kLowest : exact > kHighest ? kHighest : exact);
    }
  }
};
template <>
struct Converted<bool_t> {
  template <typename From>
  __device__ static bool_t from(From value) {
    return {static_cast<unsigned char>(number(value) != 0)};
  }
};
template <>
struct Converted<float> {
  template <typename From>
  __device__ static float from(From value) {
    return static_cast<float>(number(value));
  }
};
template <>
struct Converted<double> {
  template <typename From>
  __device__ static double from(From value) {
    return static_cast<double>(number(value));
  }
};
// Elements that only move.
template <>
struct Converted<unsigned short> {
  __device__ static unsigned short from(unsigned short value) { return value; }
};
template <>
struct Converted<unsigned int> {
  __device__ static unsigned int from(unsigned int value) { return value; }
};
template <>
struct Converted<unsigned long long> {
  __device__ static unsigned long long from(unsigned long long value) { return value; }
};

template <typename T>
struct alignas(kPack * sizeof(T) < 16 ? kPack * sizeof(T) : 16) Pack {
  T values[kPack];
};

// Neighbours to neighbours. `packed`: both addresses are aligned for packs of four.
template <typename To, typename From>
__global__ void __launch_bounds__(kThreads)
    convert_run(To* to, const From* from, long long count, int packed) {
  const long long first = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x;
  const long long step = static_cast<long long>(gridDim.x) * kThreads;
  long long done = 0;
  if (packed) {
    const long long packs = count / kPack;
    for (long long i = first; i < packs; i += step) {
      const Pack<From> in = reinterpret_cast<const Pack<From>*>(from)[i];
      Pack<To> out;
#pragma unroll
      for (int k = 0; k < kPack; ++k) out.values[k] = Converted<To>::from(in.values[k]);
      reinterpret_cast<Pack<To>*>(to)[i] = out;
    }
    done = packs * kPack;
  }
  for (long long i = done + first; i < count; i += step) to[i] = Converted<To>::from(from[i]);
}

struct Offsets {
  long long to;
  long long from;
};

// Index is 32 bits wide where the count allows it: dividing 64-bit numbers takes some four times as long.
template <typename Index>
__device__ inline Offsets offsets_of(Index index, const Walk& walk) {
  Offsets offsets{0, 0};
  for (int d = walk.rank - 1; d > 0; --d) {
    const Index extent = static_cast<Index>(walk.extents[d]);
    const Index outer = index / extent;
    const long long at = static_cast<long long>(index - outer * extent);
    offsets.to += at * walk.to_strides[d];
    offsets.from += at * walk.from_strides[d];
    index = outer;
  }
  if (walk.rank > 0) {
    offsets.to += static_cast<long long>(index) * walk.to_strides[0];
    offsets.from += static_cast<long long>(index) * walk.from_strides[0];
  }
  return offsets;
}

__device__ inline Offsets offsets_at(long long i, long long count, const Walk& walk) {
  if (count <= 0xffffffffll) return offsets_of(static_cast<unsigned int>(i), walk);
  return offsets_of(static_cast<unsigned long long>(i), walk);
}

template <typename To, typename From>
__global__ void __launch_bounds__(kThreads)
    copy_strided(To* to, const From* from, long long count, const __grid_constant__ Walk walk) {
  const long long step = static_cast<long long>(gridDim.x) * kThreads;
  for (long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    const Offsets at = offsets_at(i, count, walk);
    to[at.to] = Converted<To>::from(from[at.from]);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    fill_strided(T* to, unsigned long long bits, long long count, const __grid_constant__ Walk walk) {
  const long long step = static_cast<long long>(gridDim.x) * kThreads;
  for (long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    to[offsets_at(i, count, walk).to] = static_cast<T>(bits);
  }
}

// Product and sum are rounded one by one, as the host's are.
template <typename T>
__global__ void __launch_bounds__(kThreads) fill_range(T* to, long long count, double start, double step) {
  const long long stride = static_cast<long long>(gridDim.x) * kThreads;
  for (long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += stride) {
    to[i] = Converted<T>::from(__dadd_rn(start, __dmul_rn(static_cast<double>(i), step)));
  }
}

}  // namespace gpuforge
