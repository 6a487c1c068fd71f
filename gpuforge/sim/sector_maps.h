// Which 32-byte sectors of global memory each instruction touched: what a launch had to move at least, were
// every sector read once and written once. Not installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "gpuforge/sim/memory.h"
#include "gpuforge/sim/written.h"

namespace gpuforge::sim {

inline constexpr int kSectorShift = 5;

class SectorMaps {
 public:
  // One bit per sector of the allocation, all zero.
  std::uint64_t* make(std::uint32_t site, const Allocation& allocation);
  void take(SectorMaps& other);
  // Distinct sectors that these sites touched together.
  std::uint64_t count(const std::vector<std::uint32_t>& sites) const;

 private:
  struct Free {
    void operator()(std::uint64_t* words) const { std::free(words); }
  };
  struct Map {
    std::size_t words = 0;
    std::unique_ptr<std::uint64_t[], Free> bits;  // of calloc: pages that are not touched cost nothing
  };
  std::map<std::pair<std::uint32_t, const Allocation*>, std::vector<Map>> maps_;  // one of each host thread
};

// What the blocks of one host thread touched.
class SectorNotes {
 public:
  SectorNotes() = default;
  explicit SectorNotes(std::size_t sites) : last_(sites), maps_(std::make_shared<SectorMaps>()) {}

  // Bytes in one piece, at most 32 lanes of 32.
  void piece(std::uint32_t site, const Allocation& allocation, std::uint64_t first, std::uint64_t span) {
    const std::uint64_t from = (first >> kSectorShift) - (allocation.begin >> kSectorShift);
    const std::uint64_t sectors = ((first + span - 1) >> kSectorShift) - (first >> kSectorShift) + 1;
    std::uint64_t* const word = bits(site, allocation) + (from >> 6);
    const std::uint64_t shift = from & 63;
    word[0] |= low_bits(sectors) << shift;
    if (shift + sectors > 64) word[1] |= low_bits(sectors) >> (64 - shift);
  }
  // Lanes that lie apart, each within a sector. Those that take no part repeat one that does.
  void lanes(std::uint32_t site, const Allocation& allocation, const std::uint64_t* address, int count) {
    std::uint64_t* const words = bits(site, allocation);
    const std::uint64_t begin = allocation.begin >> kSectorShift;
    for (int lane = 0; lane < count; ++lane) {
      const std::uint64_t sector = (address[lane] >> kSectorShift) - begin;
      words[sector >> 6] |= std::uint64_t{1} << (sector & 63);
    }
  }

  const SectorMaps* maps() const { return maps_.get(); }
  // Nothing noted yet, for another host thread; its notes are added when they count.
  SectorNotes for_another_thread() const {
    return maps_ != nullptr ? SectorNotes(last_.size()) : SectorNotes();
  }
  void add(const SectorNotes& other) {
    if (maps_ != nullptr) maps_->take(*other.maps_);
  }

 private:
  struct Last {
    const Allocation* allocation = nullptr;
    std::uint64_t* bits = nullptr;
  };
  std::uint64_t* bits(std::uint32_t site, const Allocation& allocation) {
    Last& last = last_[site];
    if (last.allocation != &allocation) [[unlikely]]
      last = {&allocation, find(site, allocation)};
    return last.bits;
  }
  std::uint64_t* find(std::uint32_t site, const Allocation& allocation);

  std::vector<Last> last_;
  std::map<std::pair<std::uint32_t, const Allocation*>, std::uint64_t*> known_;
  std::shared_ptr<SectorMaps> maps_;
};

}  // namespace gpuforge::sim
