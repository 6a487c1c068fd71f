#include "cli/config_file.h"

#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/yaml.h"

namespace gpuforge::cli {
std::optional<std::filesystem::path> find_project_config(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (std::filesystem::path at = folder;; at = at.parent_path()) {
    const std::filesystem::path candidate = at / "gpuforge.yaml";
    if (std::filesystem::exists(candidate, ignored)) return candidate;
    if (at == at.parent_path()) return std::nullopt;
  }
}

std::vector<ConfigEntry> read_config(const std::filesystem::path& path) {
  const Yaml root = Yaml::parse(read_file(path), path.string());
  std::vector<ConfigEntry> entries;
  if (root.is_null()) return entries;  // only comments
  for (const auto& [key, value] : root.map()) {
    if (!value.is_scalar()) key.fail(format_text("expected one plain value for '{}'", key.text()));
    entries.push_back({key.text(), value.text(), key.where(), path.parent_path()});
  }
  return entries;
}

}  // namespace gpuforge::cli
