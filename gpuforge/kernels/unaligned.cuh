// Vectors of 16 bytes that begin at no multiple of 16, in accesses of 8 bytes.
#pragma once

#include "gpuforge/kernels/rows.cuh"

namespace gpuforge {

// `length` neighbours at `array`, for who reads kVector of them that begin at `first`, or at a multiple of
// kVector elements from there. Three accesses have them all, shifted by up to 7 bytes, which is the same for
// every one.
template <typename T, int kVector>
struct UnalignedArray {
  static constexpr int kEach = 8 / sizeof(T);  // elements of an access
  const T* array;
  long long length;
  int past;

  __device__ UnalignedArray(const T* array, long long length, long long first)
      : array(array),
        length(length),
        past(static_cast<int>(reinterpret_cast<unsigned long long>(array + first) / sizeof(T)) &
             (kEach - 1)) {}

  // No: the accesses would reach beyond the ends of the array.
  __device__ bool allows(long long at) const {
    return kVector * sizeof(T) == 16 && at >= past && at - past + 3 * kEach <= length;
  }
  __device__ void load(float (&values)[kVector], long long at) const {
    static_assert(kVector * sizeof(T) == 16, "see allows()");
    const auto* const accesses = reinterpret_cast<const typename Moved<8>::Type*>(array + (at - past));
    const auto a = accesses[0], b = accesses[1], c = accesses[2];
    unsigned words[6] = {a.x, a.y, b.x, b.y, c.x, c.y};
    const bool by_word = past >= kEach / 2;
#pragma unroll
    for (int i = 0; i < 5; ++i) words[i] = by_word ? words[i + 1] : words[i];
    const unsigned halves = past % 2 != 0 ? 0x5432 : 0x3210;
    Packed<T, kVector> shifted;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      shifted.words[i] = sizeof(T) == 4 ? words[i] : __byte_perm(words[i], words[i + 1], halves);
    shifted.to_floats(values);
  }
};

}  // namespace gpuforge
