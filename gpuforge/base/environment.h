// Every environment variable the product reads, in one table, read once by the program that starts.
// The library takes values; it never looks at the environment itself.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpuforge {

struct Environment {
  std::optional<std::string> device;        // GPUFORGE_DEVICE
  std::optional<std::string> cache_dir;     // GPUFORGE_CACHE_DIR
  std::optional<std::string> library_path;  // GPUFORGE_LIBRARY_PATH
  std::optional<std::string> log;           // GPUFORGE_LOG
  std::optional<std::string> strict;        // GPUFORGE_STRICT
  std::optional<std::string> pool;          // GPUFORGE_POOL
  std::optional<std::string> no_color;      // NO_COLOR
  std::optional<std::string> cuda_home;     // CUDA_HOME
  std::optional<std::string> home;          // HOME
  std::optional<std::string> xdg_cache;     // XDG_CACHE_HOME
  std::optional<std::string> path;          // PATH
};

struct EnvironmentEntry {
  std::string_view name;
  std::string_view meaning;  // one line, for doctor and the docs
  std::optional<std::string> Environment::*value;
};

std::span<const EnvironmentEntry> environment_table();
// Empty variables count as unset.
Environment read_environment();

}  // namespace gpuforge
