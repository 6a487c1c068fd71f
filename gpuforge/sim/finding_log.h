// Collects findings of a launch: one entry per kind and places, with a count, so that a kernel that is wrong
// in every thread gives a short report and costs little.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "gpuforge/sim/finding.h"

namespace gpuforge::sim {

inline constexpr std::uint32_t kNoSite = 0xffffffffu;

class FindingLog {
 public:
  // The entry to fill in when it is the first with this kind and these sites; nullptr when it was only
  // counted. The pointer is good until the next call.
  Finding* add(FindingKind kind, std::uint32_t site, std::uint32_t other_site = kNoSite);
  const std::vector<Finding>& entries() const { return entries_; }
  // Empties the log.
  std::vector<Finding> take();
  // Adds the logs of host threads that ran later blocks of one grid, each thread its blocks in order: gives
  // what one log of all blocks in order would hold.
  void merge(std::vector<FindingLog> logs, const Index3& grid);
  bool empty() const { return entries_.empty(); }

 private:
  using Key = std::tuple<FindingKind, std::uint32_t, std::uint32_t>;
  std::vector<Finding> entries_;
  std::vector<Key> keys_;  // of the entries
  std::map<Key, std::size_t> index_;
};

}  // namespace gpuforge::sim
