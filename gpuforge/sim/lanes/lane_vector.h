// Lanes as machine vectors, for handlers whose result is a mask of lanes: a comparison of vectors gives 0 or
// -1 per element, and the sign bits of those are gathered at once. Plain loops over lanes do not become that.
#pragma once

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "gpuforge/sim/warp.h"

namespace gpuforge::sim {

#ifdef __AVX2__
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <class T>
struct LaneVector {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using VectorOf = typename LaneVector<T>::type;
template <class T>
inline constexpr int kVectorLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
VectorOf<T> load_vector(const T* row, int lane) {
  VectorOf<T> result;
  std::memcpy(&result, row + lane, sizeof result);
  return result;
}
template <class T>
VectorOf<T> same_bits(const auto& vector) {
  VectorOf<T> result;
  static_assert(sizeof result == sizeof vector);
  std::memcpy(&result, &vector, sizeof result);
  return result;
}

// Byte i is the byte of `from`, in the same 16 bytes, that index names; 0 where its top bit is set.
inline VectorOf<std::uint32_t> picked_bytes(const VectorOf<std::uint32_t>& from,
                                            const VectorOf<std::uint32_t>& index) {
#ifdef __AVX2__
  return reinterpret_cast<VectorOf<std::uint32_t>>(
      _mm256_shuffle_epi8(reinterpret_cast<__m256i>(from), reinterpret_cast<__m256i>(index)));
#else
  std::uint8_t source[kVectorBytes], indices[kVectorBytes], target[kVectorBytes];
  std::memcpy(source, &from, sizeof source);
  std::memcpy(indices, &index, sizeof indices);
  for (int i = 0; i < kVectorBytes; ++i)
    target[i] = indices[i] >= 0x80 ? std::uint8_t{0} : source[(i & ~15) + (indices[i] & 15)];
  VectorOf<std::uint32_t> result;
  std::memcpy(&result, target, sizeof result);
  return result;
#endif
}

// Bit i is the sign of element i.
template <class Vector>
Mask sign_bits(const Vector& vector) {
  constexpr int width = sizeof(vector[0]);
  static_assert(width == 4 || width == 8);
#ifdef __AVX2__
  if constexpr (width == 4)
    return static_cast<Mask>(_mm256_movemask_ps(_mm256_castsi256_ps(reinterpret_cast<__m256i>(vector))));
  else
    return static_cast<Mask>(_mm256_movemask_pd(_mm256_castsi256_pd(reinterpret_cast<__m256i>(vector))));
#else
  std::conditional_t<width == 4, std::int32_t, std::int64_t> elements[kVectorBytes / width];
  std::memcpy(elements, &vector, sizeof elements);
  Mask result = 0;
  for (int i = 0; i < kVectorBytes / width; ++i) result |= (elements[i] < 0 ? Mask{1} : Mask{0}) << i;
  return result;
#endif
}

// The mask of the lanes whose flag is negative.
inline Mask mask_of(const std::int32_t (&flags)[kLanes]) {
  Mask result = 0;
#pragma GCC unroll 8
  for (int lane = 0; lane < kLanes; lane += kVectorLanes<std::int32_t>)
    result |= sign_bits(load_vector<std::int32_t>(flags, lane)) << lane;
  return result;
}

// What a handler writes to a predicate: in full mode every lane is active or gone.
inline void write_predicate(const Warp& warp, std::uint32_t offset, Mask value) {
  Mask& target = predicate(warp, offset);
  target ^= (target ^ value) & warp.active;
}

template <class T>
struct LaneBits {
  T bit[kLanes];
};
template <class T>
constexpr LaneBits<T> make_lane_bits() {
  LaneBits<T> result{};
  for (int lane = 0; lane < kLanes; ++lane) result.bit[lane] = T{1} << lane;
  return result;
}
// kLaneBits<T>.bit[lane] is the lane's bit: `mask & it` tells lanes apart in a loop that becomes vectors.
template <class T>
inline constexpr LaneBits<T> kLaneBits = make_lane_bits<T>();

}  // namespace gpuforge::sim
