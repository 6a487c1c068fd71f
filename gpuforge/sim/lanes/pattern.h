// How the addresses of a warp's active lanes lie. The loops are free of branches so that they become vectors.
#pragma once

#include <bit>
#include <cstdint>

#include "gpuforge/sim/access.h"
#include "gpuforge/sim/warp.h"

namespace gpuforge::sim {

inline int first_lane(Mask lanes) {
  return std::countr_zero(lanes);
}
inline int last_lane(Mask lanes) {
  return 31 - std::countl_zero(lanes);
}
inline bool is_run(Mask lanes) {  // of lanes without a gap; not 0
  const std::uint64_t run = lanes >> first_lane(lanes);
  return (run & (run + 1)) == 0;
}

// A mask as all ones or zeros per lane.
template <class Word>
struct LaneMask {
  alignas(64) Word lane[kLanes];
  explicit LaneMask(Mask lanes) {
    for (int at = 0; at < kLanes; ++at) lane[at] = Word{0} - static_cast<Word>((lanes >> at) & 1u);
  }
};

// Contiguous is said only of lanes without a gap, and before uniform when there is one lane alone.
template <unsigned kBytes, class Word>
Pattern pattern_of(const Word* address, Mask lanes) {
  Word uniform = 0;
  Word contiguous = 0;
  if (lanes == kAllLanes) [[likely]] {
    const Word base = address[0];
    for (int lane = 0; lane < kLanes; ++lane) {
      const Word distance = address[lane] - base;
      uniform |= distance;
      contiguous |= distance ^ static_cast<Word>(lane * static_cast<int>(kBytes));
    }
  } else {
    const int first = first_lane(lanes);
    const Word base = address[first];
    const Word skipped = static_cast<Word>(first) * kBytes;
    const LaneMask<Word> mask(lanes);
    for (int lane = 0; lane < kLanes; ++lane) {
      const Word distance = address[lane] - base;
      uniform |= distance & mask.lane[lane];
      contiguous |=
          (distance ^ (static_cast<Word>(lane * static_cast<int>(kBytes)) - skipped)) & mask.lane[lane];
    }
    if (contiguous == 0 && !is_run(lanes)) return Pattern::other;
  }
  if (contiguous == 0) return Pattern::contiguous;
  return uniform == 0 ? Pattern::uniform : Pattern::other;
}

}  // namespace gpuforge::sim
