#include "gpuforge/sim/finding_log.h"

#include <algorithm>
#include <utility>

namespace gpuforge::sim {

Finding* FindingLog::add(FindingKind kind, std::uint32_t site, std::uint32_t other_site) {
  const Key key{kind, site, other_site};
  const auto [at, is_new] = index_.try_emplace(key, entries_.size());
  if (!is_new) {
    ++entries_[at->second].count;
    return nullptr;
  }
  keys_.push_back(key);
  Finding& made = entries_.emplace_back();
  made.kind = kind;
  return &made;
}

std::vector<Finding> FindingLog::take() {
  index_.clear();
  keys_.clear();
  return std::exchange(entries_, {});
}

void FindingLog::merge(std::vector<FindingLog> logs, const Index3& grid) {
  struct Found {
    std::uint64_t block;
    Key key;
    Finding finding;
  };
  std::vector<Found> all;
  for (FindingLog& log : logs)
    for (std::size_t i = 0; i < log.entries_.size(); ++i) {
      const Index3 block = log.entries_[i].block;
      all.push_back({(std::uint64_t{block.z} * grid.y + block.y) * grid.x + block.x, log.keys_[i],
                     std::move(log.entries_[i])});
    }
  // A block is one thread's, whose log has its findings in order.
  std::stable_sort(all.begin(), all.end(), [](const Found& a, const Found& b) { return a.block < b.block; });
  for (Found& one : all) {
    const auto [at, is_new] = index_.try_emplace(one.key, entries_.size());
    if (is_new) {
      keys_.push_back(one.key);
      entries_.push_back(std::move(one.finding));
    } else {
      entries_[at->second].count += one.finding.count;
    }
  }
}

}  // namespace gpuforge::sim
