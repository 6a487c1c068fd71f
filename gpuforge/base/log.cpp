#include "gpuforge/base/log.h"

#include <string>

namespace gpuforge {

std::string_view name(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
    case LogLevel::off:
      return "off";
  }
  return "unknown";
}

std::optional<LogLevel> parse_log_level(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  for (LogLevel level :
       {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error, LogLevel::off}) {
    if (lower == name(level)) return level;
  }
  if (lower == "warn") return LogLevel::warning;
  if (lower == "none") return LogLevel::off;
  return std::nullopt;
}

void Log::write(LogLevel level, std::string_view message) noexcept {
  if (!enabled(level)) return;
  try {
    const std::lock_guard lock(mutex_);
    sink_(level, message);
  } catch (...) {
    // A broken sink must not break the work that was talking to it.
  }
}

}  // namespace gpuforge
