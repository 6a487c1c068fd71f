// One bit per byte of memory: set when the byte was written. Words are shared by host threads that run blocks
// side by side, so a word is changed whole or by an atomic or.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gpuforge::sim {

constexpr std::size_t written_words(std::size_t bytes) {
  return (bytes + 63) / 64 + 1;  // one to spare: a check may look at the word after the last byte's
}

inline std::uint64_t low_bits(std::uint64_t count) {  // count in 0..64
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

inline std::uint64_t load_word(const std::uint64_t* word) {
  return __atomic_load_n(word, __ATOMIC_RELAXED);
}

inline bool all_written(const std::uint64_t* bits, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t* word = bits + (first >> 6);
  std::uint64_t shift = first & 63;
  while (count > 0) {
    const std::uint64_t here = std::min<std::uint64_t>(64 - shift, count);
    const std::uint64_t wanted = low_bits(here) << shift;
    if ((load_word(word) & wanted) != wanted) return false;
    ++word;
    shift = 0;
    count -= here;
  }
  return true;
}

inline void set_written(std::uint64_t* bits, std::uint64_t first, std::uint64_t count) {
  std::uint64_t* word = bits + (first >> 6);
  std::uint64_t shift = first & 63;
  while (count > 0) {
    const std::uint64_t here = std::min<std::uint64_t>(64 - shift, count);
    const std::uint64_t wanted = low_bits(here) << shift;
    if (here == 64) {
      __atomic_store_n(word, wanted, __ATOMIC_RELAXED);
    } else if ((load_word(word) & wanted) != wanted) {
      __atomic_fetch_or(word, wanted, __ATOMIC_RELAXED);
    }
    ++word;
    shift = 0;
    count -= here;
  }
}

inline void clear_written(std::uint64_t* bits, std::uint64_t at) {
  __atomic_fetch_and(bits + (at >> 6), ~(std::uint64_t{1} << (at & 63)), __ATOMIC_RELAXED);
}

// One number for each bit of all such bits.
inline std::uint64_t written_key(const std::uint64_t* bits, std::uint64_t at) {
  return reinterpret_cast<std::uint64_t>(bits) * 8 + at;
}

}  // namespace gpuforge::sim
