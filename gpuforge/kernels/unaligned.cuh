// Vectors of 16 bytes that begin at no multiple of 16, in accesses of 8 bytes.
#pragma once

#include "gpuforge/kernels/rows.cuh"

namespace gpuforge {

// `length` neighbours at `array`, for who reads kVector of them that begin at `first`, or at a multiple of
// kVector elements from there. Up to three accesses have them all, shifted by shift() elements, which is the
// same for every one: who loads knows it when compiling, and calls load<kShift>() where it is that.
template <typename T, int kVector>
struct UnalignedArray {
  static constexpr int kEach = 8 / sizeof(T);  // elements of an access
  static constexpr int kShifts = kEach;
  const T* array;
  long long length;
  int past;

  UnalignedArray() = default;
  __device__ UnalignedArray(const T* array, long long length, long long first)
      : array(array),
        length(length),
        past(static_cast<int>(reinterpret_cast<unsigned long long>(array + first) / sizeof(T)) &
             (kEach - 1)) {}

  __device__ int shift() const { return past; }
  // No: the accesses would reach beyond the ends of the array.
  __device__ bool allows(long long at) const {
    return kVector * sizeof(T) == 16 && at >= past && at - past + 3 * kEach <= length;
  }
  template <int kShift>
  __device__ void load(float (&values)[kVector], long long at) const {
    static_assert(kVector * sizeof(T) == 16, "see allows()");
    constexpr int kBytes = kShift * static_cast<int>(sizeof(T));
    const auto* const accesses = reinterpret_cast<const typename Moved<8>::Type*>(array + (at - kShift));
    const auto a = accesses[0], b = accesses[1], c = kShift == 0 ? b : accesses[2];
    const unsigned words[] = {a.x, a.y, b.x, b.y, c.x, c.y};
    Packed<T, kVector> shifted;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned* const from = words + kBytes / 4 + i;
      shifted.words[i] = kBytes % 4 == 0 ? from[0] : __byte_perm(from[0], from[1], 0x5432);
    }
    shifted.to_floats(values);
  }
};

}  // namespace gpuforge
