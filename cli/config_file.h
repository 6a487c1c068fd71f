// gpuforge.yaml: where it is looked for, and its keys and values with the line each stands on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuforge::cli {

struct ConfigEntry {
  std::string key;
  std::string value;
  std::string source;            // "path/gpuforge.yaml:3"
  std::filesystem::path folder;  // what relative paths in it are relative to
};

// gpuforge.yaml of `folder` or of its nearest parent that has one.
std::optional<std::filesystem::path> find_project_config(const std::filesystem::path& folder);

// io Error when it cannot be read; parse Error with file and line when it is not a list of `key: value` lines
// or names a key twice. Which keys exist is for settings to say.
std::vector<ConfigEntry> read_config(const std::filesystem::path& path);

}  // namespace gpuforge::cli
