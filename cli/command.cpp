#include "cli/command.h"

#include <algorithm>

namespace gpuforge::cli {
namespace {

constexpr std::string_view kDevices[] = {"cuda:0", "sim", "cpu"};
constexpr std::string_view kColors[] = {"auto", "always", "never"};
constexpr std::string_view kCompilers[] = {"auto", "nvrtc", "clang"};

constexpr Option kCommonOptions[] = {
    {.name = "device",
     .short_name = 'd',
     .value = "NAME",
     .help = "cuda:N, sim, sim:ARCH or cpu",
     .values = kDevices},
    {.name = "json", .help = "print one JSON document instead of text"},
    {.name = "quiet", .short_name = 'q', .help = "no notes or warnings on stderr, errors only"},
    {.name = "verbose", .short_name = 'v', .help = "say more: cache hits, searches, long error details"},
    {.name = "strict", .help = "whatever would be a warning ends with exit code 3"},
    {.name = "color",
     .value = "WHEN",
     .help = "auto, always or never; auto is colour on a terminal unless NO_COLOR is set",
     .values = kColors,
     .only_values = true},
    {.name = "cache-dir", .value = "DIR", .help = "folder of compiled kernels", .kind = ValueKind::folder},
    {.name = "cache-limit", .value = "SIZE", .help = "how large it may grow: 512MiB, 1GiB"},
    {.name = "kernel-dir",
     .value = "DIR",
     .help = "read gpuforge's own kernels from this source tree",
     .kind = ValueKind::folder},
    {.name = "compiler",
     .value = "NAME",
     .help = "nvrtc, clang (PTX alone, for sim) or auto: NVRTC, else clang",
     .values = kCompilers,
     .only_values = true},
    {.name = "help", .short_name = 'h', .help = "this text"},
};

}  // namespace

std::span<const Option> common_options() {
  return kCommonOptions;
}

const Command* find_command(std::span<const Command* const> commands, std::string_view name) {
  for (const Command* command : commands) {
    if (command->name == name) return command;
    if (std::find(command->aliases.begin(), command->aliases.end(), name) != command->aliases.end())
      return command;
  }
  return nullptr;
}

bool Invocation::has(std::string_view option) const {
  return std::any_of(given_.begin(), given_.end(), [&](const auto& entry) { return entry.first == option; });
}

std::optional<std::string> Invocation::value(std::string_view option) const {
  std::optional<std::string> found;
  for (const auto& [name, value] : given_) {
    if (name == option) found = value;
  }
  return found;
}

std::vector<std::string> Invocation::values(std::string_view option) const {
  std::vector<std::string> found;
  for (const auto& [name, value] : given_) {
    if (name == option) found.push_back(value);
  }
  return found;
}

}  // namespace gpuforge::cli
