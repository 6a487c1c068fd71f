// Internal to the room: the five rules of library.h, each a function from options to the copies it finds.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/cuda/library.h"

namespace gpuforge::cuda::internal {

struct RuleResult {
  std::string_view rule;
  std::vector<std::filesystem::path> copies;  // in order
  std::string looked;                         // where, for the report when nothing was found
};

using Rule = RuleResult (*)(LibraryKind kind, const SearchOptions& options);
// In search order.
std::span<const Rule> search_rules();

}  // namespace gpuforge::cuda::internal
