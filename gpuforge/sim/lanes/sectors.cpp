#include "gpuforge/sim/lanes/sectors.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "gpuforge/sim/lanes/lane_vector.h"
#include "gpuforge/sim/lanes/pattern.h"

namespace gpuforge::sim {
namespace {

using Keys = VectorOf<std::int32_t>;
constexpr int kWidth = kVectorLanes<std::int32_t>;

Keys keys_at(const std::uint32_t* key) {
  Keys result;
  std::memcpy(&result, key, sizeof result);
  return result;
}

// repeated[i] is -1 when an earlier key is the same, else 0. Comparing all with all shifted by one, two, ...
// is more work than a table, but has no branch and no dependent load.
template <int kCount>
void find_repeated(std::int32_t* repeated, const std::uint32_t* key) {
  alignas(64) std::uint32_t padded[2 * kCount];
  std::memset(padded, 0xff, kCount * sizeof(std::uint32_t));
  std::memcpy(padded + kCount, key, kCount * sizeof(std::uint32_t));
  if constexpr (kCount < kWidth) {
    for (int i = 0; i < kCount; ++i) {
      repeated[i] = 0;
      for (int shift = 1; shift < kCount; ++shift)
        repeated[i] |= key[i] == padded[kCount + i - shift] ? -1 : 0;
    }
  } else {
    for (int i = 0; i < kCount; i += kWidth) {
      const Keys here = keys_at(key + i);
      Keys odd = here == keys_at(padded + kCount + i - 1);
      Keys even{};
      for (int shift = 2; shift < i + kWidth; shift += 2) {
        even |= here == keys_at(padded + kCount + i - shift);
        odd |= here == keys_at(padded + kCount + i - shift - 1);
      }
      even |= odd;
      std::memcpy(repeated + i, &even, sizeof even);
    }
  }
}

bool is_rising(const std::uint32_t* key) {
  if (key[0] > key[kLanes - 1]) return false;
  std::uint32_t falls = 0;
  for (int i = 0; i + 1 < kLanes; ++i) falls |= key[i + 1] < key[i] ? 1u : 0u;
  return falls == 0;
}

// The same for sixteen keys at once, and how many earlier ones are the same. 0xffff is no key.
using Shorts = VectorOf<std::int16_t>;
constexpr int kShorts = kVectorLanes<std::int16_t>;
struct ShortLanes {
  alignas(64) std::uint16_t padding[kLanes];
  alignas(64) std::uint16_t lane[kLanes];
};
Shorts shorts_at(const ShortLanes& from, int lane) {  // from -32 up
  Shorts result;
  std::memcpy(&result, reinterpret_cast<const std::byte*>(&from) + 2 * (kLanes + lane), sizeof result);
  return result;
}
void count_earlier(std::int16_t* earlier, ShortLanes& key) {
  std::memset(key.padding, 0xff, sizeof key.padding);
  for (int lane = 0; lane < kLanes; lane += kShorts) {
    const Shorts here = shorts_at(key, lane);
    Shorts odd = here == shorts_at(key, lane - 1);
    Shorts even{};
    for (int shift = 2; shift < lane + kShorts; shift += 2) {
      even += here == shorts_at(key, lane - shift);
      odd += here == shorts_at(key, lane - shift - 1);
    }
    even = -(even + odd);
    std::memcpy(earlier + lane, &even, sizeof even);
  }
}

// Whether lanes that differ in this bit alone have the same address, where both are active.
bool pairs_share(const std::uint32_t* offset, Mask lanes, int bit) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const int partner = lane ^ bit;
    if (((lanes >> lane) & (lanes >> partner) & 1u) != 0 && offset[lane] != offset[partner]) return false;
  }
  return true;
}

int group_lanes(std::uint32_t bytes) {
  return bytes <= 4 ? kLanes : static_cast<int>(128 / bytes);
}

std::uint32_t groups_used(Mask lanes, int group) {
  std::uint32_t used = 0;
  for (int first = 0; first < kLanes; first += group)
    if (((lanes >> first) & (group == kLanes ? kAllLanes : (1u << group) - 1)) != 0) ++used;
  return used;
}

// Keys for a second count_earlier: the banks, and for lanes that do not queue something no other lane has.
// Gives the number of active lanes that have earlier ones.
std::uint32_t queue_banks(ShortLanes& key, const std::int16_t* earlier, Mask lanes, const std::uint32_t* unit,
                          std::uint32_t banks, int group_shift) {
  alignas(64) std::uint32_t wide[kLanes];
  for (std::uint32_t lane = 0; lane < kLanes; ++lane)
    wide[lane] = (unit[lane] & (banks - 1)) | (lane >> group_shift) << 5;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) key.lane[lane] = static_cast<std::uint16_t>(wide[lane]);
  const LaneMask<std::uint16_t> mask(lanes);
  Shorts id{};
  for (int lane = 0; lane < kShorts; ++lane) id[lane] = static_cast<std::int16_t>(0x400 + lane);
  Shorts sum{};
  for (int lane = 0; lane < kLanes; lane += kShorts) {
    Shorts before, active, bank;
    std::memcpy(&before, earlier + lane, sizeof before);
    std::memcpy(&active, mask.lane + lane, sizeof active);
    std::memcpy(&bank, key.lane + lane, sizeof bank);
    const Shorts again = (before != 0) & active;
    const Shorts out = again | ~active;
    bank = (bank & ~out) | ((id + static_cast<std::int16_t>(lane)) & out);
    std::memcpy(key.lane + lane, &bank, sizeof bank);
    sum -= again;
  }
  std::int16_t repeated = 0;
  for (int lane = 0; lane < kShorts; ++lane) repeated = static_cast<std::int16_t>(repeated + sum[lane]);
  return static_cast<std::uint32_t>(repeated);
}

// A column of a matrix: one step from lane to lane. 0 when it is not so.
std::uint32_t passes_of_stride(const std::uint32_t* unit) {
  const std::uint32_t step = unit[1] - unit[0];
  std::uint32_t different = 0;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) different |= unit[lane] ^ (unit[0] + lane * step);
  if (different != 0 || step == 0) return 0;
  return std::min<std::uint32_t>(step & (0u - step), kLanes);
}

}  // namespace

std::uint32_t count_distinct(const std::uint32_t* key) {
  if (is_rising(key)) {
    std::uint32_t steps = 1;
    for (int i = 0; i + 1 < kLanes; ++i) steps += key[i + 1] != key[i] ? 1u : 0u;
    return steps;
  }
  alignas(64) std::int32_t repeated[kLanes];
  find_repeated<kLanes>(repeated, key);
  std::int32_t again = 0;
  for (int i = 0; i < kLanes; ++i) again += repeated[i];
  return static_cast<std::uint32_t>(kLanes + again);
}

SectorCount count_sectors(const std::uint32_t* offset, Mask lanes, std::uint32_t bytes) {
  alignas(64) std::uint32_t key[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) key[lane] = offset[lane] >> 5;
  SectorCount result;
  result.sectors = count_distinct(key);
  const auto active = static_cast<std::uint32_t>(std::popcount(lanes));
  if (result.sectors == active) {
    result.distinct = active;
    return result;
  }
  const int shift = std::countr_zero(bytes);
  if (shift == 0) {  // a byte's offset may be any 32-bit number, but the sentinel's sector is excluded
    result.distinct = count_distinct(offset);
    return result;
  }
  for (int lane = 0; lane < kLanes; ++lane) key[lane] = offset[lane] >> shift;
  result.distinct = count_distinct(key);
  return result;
}

SectorCount count_far_sectors(const std::uint64_t* address) {
  std::uint64_t sorted[kLanes];
  std::copy(address, address + kLanes, sorted);
  std::sort(sorted, sorted + kLanes);
  SectorCount result{1, 1};
  for (int i = 1; i < kLanes; ++i) {
    result.sectors += sorted[i] >> 5 != sorted[i - 1] >> 5 ? 1u : 0u;
    result.distinct += sorted[i] != sorted[i - 1] ? 1u : 0u;
  }
  return result;
}

std::uint32_t count_local_sectors(const std::uint32_t* offset, Mask lanes, std::uint32_t bytes) {
  const int shift = std::max(2, std::countr_zero(bytes));
  alignas(64) std::uint32_t key[kLanes];
  const auto first = static_cast<std::uint32_t>(first_lane(lanes));
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t from = ((lanes >> lane) & 1u) != 0 ? lane : first;
    key[lane] = (offset[from] >> shift) * 4 + from / 8;
  }
  return count_distinct(key) * ((bytes + 3) / 4);
}

BankCount count_banks(const std::uint32_t* offset, Mask lanes, std::uint32_t bytes, bool is_load) {
  const auto active = static_cast<std::uint32_t>(std::popcount(lanes));
  const int shift = std::max(2, std::countr_zero(bytes));
  alignas(64) std::uint32_t unit[kLanes];  // as wide as an access or a bank
  for (int lane = 0; lane < kLanes; ++lane) unit[lane] = offset[lane] >> shift;
  int group = group_lanes(bytes);
  const auto banks = static_cast<std::uint32_t>(group);
  if (bytes > 4 && is_load && (pairs_share(offset, lanes, 1) || pairs_share(offset, lanes, 2))) group *= 2;
  const std::uint32_t groups = group == kLanes ? 1 : groups_used(lanes, group);

  // No bank is asked twice: most often so.
  const int group_shift = std::countr_zero(static_cast<unsigned>(group));
  const LaneMask<std::uint32_t> mask(lanes);
  std::uint32_t used = 0;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane)
    used |= (1u << ((unit[lane] & (banks - 1)) + (lane >> group_shift) * banks)) & mask.lane[lane];
  if (static_cast<std::uint32_t>(std::popcount(used)) == active)
    return {groups, groups, groups == 1 ? active : count_distinct(unit)};
  if (bytes == 4 && lanes == kAllLanes)
    if (const std::uint32_t passes = passes_of_stride(unit)) return {passes, 1, kLanes};

  // The lanes' places in the queues of their banks, those that repeat an earlier lane's unit left out.
  ShortLanes key;
  alignas(64) std::int16_t earlier[kLanes];
  if (groups == 1 && is_rising(unit)) {
    earlier[0] = 0;
    for (int lane = 1; lane < kLanes; ++lane) earlier[lane] = unit[lane] == unit[lane - 1] ? 1 : 0;
    earlier[first_lane(lanes)] = 0;
  } else {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane)
      key.lane[lane] = static_cast<std::uint16_t>(unit[lane] | ((lane >> group_shift) << (11 + group_shift)) |
                                                  ~mask.lane[lane]);
    count_earlier(earlier, key);
  }
  const std::uint32_t repeated = queue_banks(key, earlier, lanes, unit, banks, group_shift);
  BankCount result;
  result.ideal = groups;
  if (bytes < 4)
    result.distinct = repeated == 0 ? active : count_distinct(offset);
  else
    result.distinct = groups == 1 ? active - repeated : count_distinct(unit);
  if (static_cast<std::uint32_t>(std::popcount(used)) == active - repeated) {
    result.wavefronts = groups;
    return result;
  }
  count_earlier(earlier, key);
  if (groups == 1) {
    std::int16_t longest = 0;
    for (int lane = 0; lane < kLanes; ++lane) longest = std::max(longest, earlier[lane]);
    result.wavefronts = static_cast<std::uint32_t>(longest) + 1;
  } else {
    for (int first = 0; first < kLanes; first += group) {
      std::int16_t longest = 0;
      for (int lane = first; lane < first + group; ++lane) longest = std::max(longest, earlier[lane]);
      if (((lanes >> first) & ((1u << group) - 1)) != 0)
        result.wavefronts += static_cast<std::uint32_t>(longest) + 1;
    }
  }
  return result;
}

BankCount contiguous_banks(Mask lanes, std::uint32_t bytes, bool is_load) {
  if (bytes > 4 && is_load && std::popcount(lanes) <= 4) {  // few enough for no lane to have its partner
    std::uint32_t offset[kLanes];
    for (int lane = 0; lane < kLanes; ++lane)
      offset[lane] =
          static_cast<std::uint32_t>(((lanes >> lane) & 1u) != 0 ? lane : first_lane(lanes)) * bytes;
    return count_banks(offset, lanes, bytes, is_load);
  }
  const std::uint32_t groups = groups_used(lanes, group_lanes(bytes));
  return {groups, groups, static_cast<std::uint32_t>(std::popcount(lanes))};
}

BankCount uniform_banks(Mask lanes, std::uint32_t bytes, bool is_load) {
  const int group = group_lanes(bytes);
  const std::uint32_t groups = groups_used(lanes, is_load && bytes > 4 ? 2 * group : group);
  return {groups, groups, 1};
}

}  // namespace gpuforge::sim
