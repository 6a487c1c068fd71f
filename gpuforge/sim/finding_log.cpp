#include "gpuforge/sim/finding_log.h"

#include <utility>

namespace gpuforge::sim {

Finding* FindingLog::add(FindingKind kind, std::uint32_t site, std::uint32_t other_site) {
  const auto [at, is_new] = index_.try_emplace({kind, site, other_site}, entries_.size());
  if (!is_new) {
    // After take() the index points at entries that are gone; they are counted nowhere.
    if (at->second < entries_.size()) ++entries_[at->second].count;
    return nullptr;
  }
  Finding& made = entries_.emplace_back();
  made.kind = kind;
  return &made;
}

}  // namespace gpuforge::sim
