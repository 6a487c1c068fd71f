// What a run of the program goes by: flag > environment > the project's gpuforge.yaml > the user's > default.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "gpuforge/base/environment.h"
#include "gpuforge/base/log.h"
#include "gpuforge/jit/jit.h"

namespace gpuforge::cli {

enum class ColorChoice { automatic, always, never };

struct SettingOrigin {
  std::string key;
  std::string value;   // as it was written; for a default, what it amounts to
  std::string source;  // "--device", "GPUFORGE_DEVICE", "gpuforge.yaml:3", "default"
};

struct Settings {
  std::optional<std::string> device;  // nothing: the verb's own default
  std::optional<std::filesystem::path> cache_dir;
  std::uint64_t cache_limit_bytes = std::uint64_t{1} << 30;
  std::optional<std::filesystem::path> kernel_dir;
  jit::CompilerChoice compiler = jit::CompilerChoice::automatic;
  bool strict = false;
  ColorChoice color = ColorChoice::automatic;
  LogLevel log = LogLevel::warning;
  std::vector<SettingOrigin> origins;  // one per key, for doctor
};

// Unknown keys and bad values are Errors that name their source; `working_folder` is where the search for the
// project's file starts. `default_cache_dir` is what stands when nobody says.
Settings resolve_settings(const Invocation& invocation, const Environment& environment,
                          const std::filesystem::path& working_folder,
                          const std::optional<std::filesystem::path>& default_cache_dir);

// From flags and environment alone, for verbs that must work whatever the files say. Never fails.
ColorChoice color_without_files(const Invocation& invocation, const Environment& environment);

}  // namespace gpuforge::cli
