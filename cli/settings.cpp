#include "cli/settings.h"

#include <algorithm>
#include <array>

#include "cli/config_file.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/base/suggest.h"

namespace gpuforge::cli {
namespace {

struct Given {
  std::string value;
  std::string source;
  std::filesystem::path folder;               // for relative paths; empty: as they are
  std::optional<std::filesystem::path> home;  // for "~/"
};

[[noreturn]] void reject(const Given& given, std::string_view key, std::string_view expected) {
  throw Error(ErrorCode::invalid_argument,
              format_text("{}: {} is {}, but '{}' was found", given.source, key, expected, given.value));
}

std::filesystem::path path_of(const Given& given, std::string_view key) {
  if (given.value.empty()) reject(given, key, "a folder");
  if (given.value.starts_with("~/") && given.home) return *given.home / given.value.substr(2);
  const std::filesystem::path path = given.value;
  return path.is_absolute() || given.folder.empty() ? path : given.folder / path;
}

struct SettingKey {
  std::string_view name;
  std::optional<std::string> Environment::*variable;
  std::string_view variable_name;
  void (*apply)(Settings&, const Given&);
};

void apply_device(Settings& settings, const Given& given) {
  if (given.value.empty()) reject(given, "device", "cuda:N, sim, sim:ARCH or cpu");
  settings.device = given.value;
}
void apply_cache_dir(Settings& settings, const Given& given) {
  settings.cache_dir = path_of(given, "cache-dir");
}
void apply_cache_limit(Settings& settings, const Given& given) {
  const auto bytes = parse_byte_size(given.value);
  if (!bytes) reject(given, "cache-limit", "a size such as 512MiB or 1GiB");
  settings.cache_limit_bytes = *bytes;
}
void apply_kernel_dir(Settings& settings, const Given& given) {
  settings.kernel_dir = path_of(given, "kernel-dir");
}
void apply_compiler(Settings& settings, const Given& given) {
  if (given.value == "auto") {
    settings.compiler = jit::CompilerChoice::automatic;
  } else if (given.value == "nvrtc") {
    settings.compiler = jit::CompilerChoice::nvrtc;
  } else if (given.value == "clang") {
    settings.compiler = jit::CompilerChoice::clang;
  } else {
    reject(given, "compiler", "auto, nvrtc or clang");
  }
}
void apply_strict(Settings& settings, const Given& given) {
  constexpr std::array<std::string_view, 4> kYes = {"1", "true", "yes", "on"};
  constexpr std::array<std::string_view, 4> kNo = {"0", "false", "no", "off"};
  const bool yes = std::find(kYes.begin(), kYes.end(), given.value) != kYes.end();
  const bool no = std::find(kNo.begin(), kNo.end(), given.value) != kNo.end();
  if (!yes && !no) reject(given, "strict", "true or false");
  settings.strict = yes;
}
void apply_color(Settings& settings, const Given& given) {
  if (given.value == "auto") {
    settings.color = ColorChoice::automatic;
  } else if (given.value == "always") {
    settings.color = ColorChoice::always;
  } else if (given.value == "never") {
    settings.color = ColorChoice::never;
  } else {
    reject(given, "color", "auto, always or never");
  }
}
void apply_log(Settings& settings, const Given& given) {
  const auto level = parse_log_level(given.value);
  if (!level) reject(given, "log", "debug, info, warning, error or off");
  settings.log = *level;
}

constexpr std::array kKeys = {
    SettingKey{"device", &Environment::device, "GPUFORGE_DEVICE", apply_device},
    SettingKey{"cache-dir", &Environment::cache_dir, "GPUFORGE_CACHE_DIR", apply_cache_dir},
    SettingKey{"cache-limit", nullptr, "", apply_cache_limit},
    SettingKey{"kernel-dir", nullptr, "", apply_kernel_dir},
    SettingKey{"compiler", nullptr, "", apply_compiler},
    SettingKey{"strict", &Environment::strict, "GPUFORGE_STRICT", apply_strict},
    SettingKey{"color", &Environment::no_color, "NO_COLOR", apply_color},
    SettingKey{"log", &Environment::log, "GPUFORGE_LOG", apply_log},
};

std::optional<Given> from_flags(const SettingKey& key, const Invocation& invocation) {
  const std::string flag = "--" + std::string(key.name);
  if (key.name == "strict") {
    return invocation.has("strict") ? std::optional(Given{"true", flag, {}, {}}) : std::nullopt;
  }
  if (key.name == "log") {
    const bool quiet = invocation.has("quiet");
    const bool verbose = invocation.has("verbose");
    GPUFORGE_CHECK(!(quiet && verbose), "--quiet and --verbose exclude each other");
    if (quiet) return Given{"error", "--quiet", {}, {}};
    if (verbose) return Given{"debug", "--verbose", {}, {}};
    return std::nullopt;
  }
  const auto value = invocation.value(key.name);
  return value ? std::optional(Given{*value, flag, {}, {}}) : std::nullopt;
}

std::optional<Given> from_environment(const SettingKey& key, const Environment& environment) {
  if (key.variable == nullptr || !(environment.*key.variable)) return std::nullopt;
  const std::string value = key.name == "color" ? "never" : *(environment.*key.variable);
  return Given{value, std::string(key.variable_name), {}, {}};
}

std::optional<Given> from_file(const SettingKey& key, const std::vector<ConfigEntry>& entries,
                               const Environment& environment) {
  for (const ConfigEntry& entry : entries) {
    if (entry.key != key.name) continue;
    std::optional<std::filesystem::path> home;
    if (environment.home) home = *environment.home;
    return Given{entry.value, entry.source, entry.folder, home};
  }
  return std::nullopt;
}

std::vector<ConfigEntry> checked_config(const std::filesystem::path& path) {
  std::vector<ConfigEntry> entries = read_config(path);
  std::vector<std::string> known;
  std::string list;
  for (const SettingKey& key : kKeys) {
    known.emplace_back(key.name);
    list += (list.empty() ? "" : ", ") + std::string(key.name);
  }
  for (const ConfigEntry& entry : entries) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    throw Error(ErrorCode::parse, format_text("{}: unknown key '{}'{} (known: {})", entry.source, entry.key,
                                              did_you_mean(entry.key, known), list));
  }
  return entries;
}

std::string default_text(std::string_view key, const Settings& settings) {
  if (key == "device") return "cuda:0, else what the verb can use";
  if (key == "cache-dir") return settings.cache_dir ? settings.cache_dir->string() : "none (HOME is not set)";
  if (key == "cache-limit") return show_bytes(settings.cache_limit_bytes);
  if (key == "kernel-dir") return "built in";
  if (key == "compiler") return "auto";
  if (key == "strict") return "false";
  if (key == "color") return "auto";
  return std::string(name(settings.log));
}

}  // namespace

Settings resolve_settings(const Invocation& invocation, const Environment& environment,
                          const std::filesystem::path& working_folder,
                          const std::optional<std::filesystem::path>& default_cache_dir) {
  const auto project_path = find_project_config(working_folder);
  std::vector<ConfigEntry> project;
  if (project_path) project = checked_config(*project_path);
  std::vector<ConfigEntry> user;
  if (environment.home) {
    const std::filesystem::path path =
        std::filesystem::path(*environment.home) / ".config/gpuforge/gpuforge.yaml";
    std::error_code ignored;
    if (path != project_path && std::filesystem::exists(path, ignored)) user = checked_config(path);
  }
  Settings settings;
  settings.cache_dir = default_cache_dir;
  for (const SettingKey& key : kKeys) {
    // Every source is applied, lowest first, so that a bad value is found even where a better one hides it.
    const std::optional<Given> sources[] = {from_file(key, user, environment),
                                            from_file(key, project, environment),
                                            from_environment(key, environment), from_flags(key, invocation)};
    SettingOrigin origin{std::string(key.name), default_text(key.name, settings), "default"};
    for (const auto& given : sources) {
      if (!given) continue;
      key.apply(settings, *given);
      origin.value = given->value;
      origin.source = given->source;
    }
    settings.origins.push_back(std::move(origin));
  }
  return settings;
}

ColorChoice color_without_files(const Invocation& invocation, const Environment& environment) {
  const auto flag = invocation.value("color");
  if (flag == "always") return ColorChoice::always;
  if (flag == "never" || (!flag && environment.no_color)) return ColorChoice::never;
  return ColorChoice::automatic;
}

}  // namespace gpuforge::cli
