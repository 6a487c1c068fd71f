#include "gpuforge/context/tuning_table.h"

#include <bit>
#include <utility>

#include "gpuforge/base/format.h"

namespace gpuforge {

std::string to_string(const Config& config) {
  std::string text;
  for (const auto& [name, value] : config)
    text += format_text("{}{}={}", text.empty() ? "" : " ", name, value);
  return text.empty() ? "-" : text;
}

std::string shape_class(const Shape& extents) {
  std::string text;
  for (const std::int64_t extent : extents) {
    const bool whole = extent % 8 == 0;
    const std::uint64_t rounded = extent > 0 ? std::bit_ceil(static_cast<std::uint64_t>(extent)) : 0;
    text += format_text("{}{}{}", text.empty() ? "" : "x", rounded, whole ? "" : "r");
  }
  return text;
}

void TuningTable::set(TuningKey key, Config config) {
  entries_.insert_or_assign(std::move(key), std::move(config));
}

const Config* TuningTable::find(const TuningKey& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace gpuforge
