#include "gpuforge/base/suggest.h"

#include <algorithm>

#include "gpuforge/base/format.h"

namespace gpuforge {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: a swap of neighbours looks two rows back.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::optional<std::string> nearest(std::string_view typed, std::span<const std::string> known) {
  if (typed.size() > 64) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const std::string& candidate : known) {
    // The start of a longer name counts as one slip: "--inst" for "--instantiate".
    const bool begins = typed.size() >= 3 && candidate.starts_with(typed);
    const std::size_t distance = begins ? 1 : edit_distance(typed, candidate);
    const std::size_t allowed = std::max<std::size_t>(1, std::min(typed.size(), candidate.size()) / 3);
    if (distance > allowed) continue;
    if (!best || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string> known) {
  const auto best = nearest(typed, known);
  return best ? format_text("; did you mean '{}'?", *best) : std::string();
}

}  // namespace gpuforge
