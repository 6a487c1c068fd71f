#include "cli/config_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"

namespace gpuforge::cli {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const YAML::Mark& mark, std::string_view problem) {
  throw Error(ErrorCode::parse, format_text("{}:{}: {}", path.string(), std::max(mark.line, 0) + 1, problem));
}

}  // namespace

std::optional<std::filesystem::path> find_project_config(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (std::filesystem::path at = folder;; at = at.parent_path()) {
    const std::filesystem::path candidate = at / "gpuforge.yaml";
    if (std::filesystem::exists(candidate, ignored)) return candidate;
    if (at == at.parent_path()) return std::nullopt;
  }
}

std::vector<ConfigEntry> read_config(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  YAML::Node root;
  try {
    root = YAML::Load(text);
  } catch (const YAML::Exception& error) {
    fail(path, error.mark, error.msg);
  }
  std::vector<ConfigEntry> entries;
  if (root.IsNull() || !root.IsDefined()) return entries;  // only comments
  if (!root.IsMap()) fail(path, root.Mark(), "expected lines of the form `key: value`");
  for (const auto& pair : root) {
    if (!pair.first.IsScalar()) fail(path, pair.first.Mark(), "expected a plain word as the key");
    const std::string key = pair.first.Scalar();
    if (!pair.second.IsScalar()) {
      fail(path, pair.first.Mark(), format_text("expected one plain value for '{}'", key));
    }
    const bool twice = std::any_of(entries.begin(), entries.end(),
                                   [&](const ConfigEntry& entry) { return entry.key == key; });
    if (twice) fail(path, pair.first.Mark(), format_text("'{}' is set twice", key));
    entries.push_back({key, pair.second.Scalar(),
                       format_text("{}:{}", path.string(), pair.first.Mark().line + 1), path.parent_path()});
  }
  return entries;
}

}  // namespace gpuforge::cli
