#include "gpuforge/sim/sector_maps.h"

#include <bit>
#include <new>
#include <set>

namespace gpuforge::sim {

std::uint64_t* SectorMaps::make(std::uint32_t site, const Allocation& allocation) {
  const std::uint64_t sectors =
      ((allocation.end() - 1) >> kSectorShift) - (allocation.begin >> kSectorShift) + 1;
  Map map;
  map.words = sectors / 64 + 2;  // one to spare: a piece may write the word after its last bit's
  map.bits.reset(static_cast<std::uint64_t*>(std::calloc(map.words, sizeof(std::uint64_t))));
  if (map.bits == nullptr) throw std::bad_alloc();
  std::uint64_t* const bits = map.bits.get();
  maps_[{site, &allocation}].push_back(std::move(map));
  return bits;
}

void SectorMaps::take(SectorMaps& other) {
  for (auto& [where, maps] : other.maps_)
    for (Map& map : maps) maps_[where].push_back(std::move(map));
  other.maps_.clear();
}

std::uint64_t SectorMaps::count(const std::vector<std::uint32_t>& sites) const {
  std::map<const Allocation*, std::vector<const Map*>> by_allocation;
  for (const std::uint32_t site : std::set(sites.begin(), sites.end())) {
    for (auto at = maps_.lower_bound({site, nullptr}); at != maps_.end() && at->first.first == site; ++at)
      for (const Map& map : at->second) by_allocation[at->first.second].push_back(&map);
  }
  std::uint64_t total = 0;
  for (const auto& [allocation, maps] : by_allocation) {
    for (std::size_t word = 0; word < maps.front()->words; ++word) {
      std::uint64_t any = 0;
      for (const Map* map : maps) any |= map->bits[word];
      total += static_cast<std::uint64_t>(std::popcount(any));
    }
  }
  return total;
}

std::uint64_t* SectorNotes::find(std::uint32_t site, const Allocation& allocation) {
  std::uint64_t*& found = known_[{site, &allocation}];
  if (found == nullptr) found = maps_->make(site, allocation);
  return found;
}

}  // namespace gpuforge::sim
