#include "gpuforge/device/host_machine.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <thread>

namespace gpuforge::device {
namespace {

// Files of /proc have no size to ask for, and a missing one is an answer here, not an Error.
std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n:");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

// What follows `key` on the line that starts with it.
std::optional<std::string_view> field(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(key)) return trimmed(line.substr(key.size()));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return std::nullopt;
}

// A leading number; nothing for "max" and other texts.
std::optional<std::size_t> number(std::optional<std::string_view> text) {
  std::size_t value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc()) return {};
  return value;
}

std::optional<std::size_t> number_in(const std::filesystem::path& path) {
  const std::string text = text_of(path);
  return number(trimmed(text));
}

struct GroupFiles {
  const char* folder;
  const char* limit;
  const char* used;
  const char* reclaimable;  // file cache counted as used, which the kernel gives back under pressure
};
constexpr GroupFiles kVersion2{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "};
constexpr GroupFiles kVersion1{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_inactive_file "};

// Every group from the process's own up to the mount's root may hold a limit.
void apply_groups(MemoryInfo& info, const std::filesystem::path& root, const GroupFiles& files,
                  std::filesystem::path group) {
  const std::size_t machine_bytes = info.total_bytes;
  for (;;) {
    const std::filesystem::path folder = root / files.folder / group.relative_path();
    const std::optional<std::size_t> limit = number_in(folder / files.limit);
    if (limit && *limit < machine_bytes) {
      const std::size_t reclaimable =
          number(field(text_of(folder / "memory.stat"), files.reclaimable)).value_or(0);
      std::size_t used = number_in(folder / files.used).value_or(0);
      used -= std::min(used, reclaimable);
      info.total_bytes = std::min(info.total_bytes, *limit);
      info.free_bytes = std::min(info.free_bytes, *limit - std::min(*limit, used));
    }
    if (!group.has_relative_path()) return;
    group = group.parent_path();
  }
}

}  // namespace

MemoryInfo read_host_memory(const std::filesystem::path& root) {
  const std::string meminfo = text_of(root / "proc/meminfo");
  constexpr std::size_t kKilobyte = 1024;
  MemoryInfo info;
  info.total_bytes = number(field(meminfo, "MemTotal:")).value_or(0) * kKilobyte;
  info.free_bytes = number(field(meminfo, "MemAvailable:")).value_or(0) * kKilobyte;

  const std::string groups = text_of(root / "proc/self/cgroup");
  std::string_view rest = groups;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.starts_with("0::")) apply_groups(info, root, kVersion2, line.substr(3));
    if (const std::size_t at = line.find(":memory:"); at != std::string_view::npos) {
      apply_groups(info, root, kVersion1, line.substr(at + 8));
    }
  }
  return info;
}

HostProcessor read_host_processor(const std::filesystem::path& root) {
  HostProcessor processor;
  const std::string cpuinfo = text_of(root / "proc/cpuinfo");
  processor.product = field(cpuinfo, "model name").value_or("");
  if (processor.product.empty()) processor.product = "CPU";
  processor.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  processor.clock_khz = static_cast<int>(number(field(cpuinfo, "cpu MHz")).value_or(0) * 1000);
  const std::filesystem::path cache = root / "sys/devices/system/cpu/cpu0/cache/index2/size";
  processor.l2_bytes = number_in(cache).value_or(0) * 1024;  // "2048K"
  return processor;
}

}  // namespace gpuforge::device
