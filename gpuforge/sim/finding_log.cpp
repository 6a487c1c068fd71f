#include "gpuforge/sim/finding_log.h"

#include <algorithm>
#include <utility>

namespace gpuforge::sim {

Finding* FindingLog::add(FindingKind kind, std::uint32_t site, std::uint32_t other_site) {
  const auto [at, is_new] = index_.try_emplace({kind, site, other_site}, entries_.size());
  if (!is_new) {
    ++entries_[at->second].count;
    return nullptr;
  }
  Finding& made = entries_.emplace_back();
  made.kind = kind;
  return &made;
}

std::vector<Finding> FindingLog::take() {
  index_.clear();
  return std::exchange(entries_, {});
}

void FindingLog::merge(Finding finding) {
  const auto same = [&](const Finding& one) {
    return one.kind == finding.kind && one.place.ptx_line == finding.place.ptx_line &&
           one.place.instruction == finding.place.instruction &&
           one.other.ptx_line == finding.other.ptx_line && one.other.instruction == finding.other.instruction;
  };
  const auto found = std::find_if(entries_.begin(), entries_.end(), same);
  if (found == entries_.end())
    entries_.push_back(std::move(finding));
  else
    found->count += finding.count;
}

}  // namespace gpuforge::sim
