// Where the library talks: one sink with a level. The library never prints; the CLI and Python give a sink.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "gpuforge/base/format.h"

namespace gpuforge {

enum class LogLevel { debug, info, warning, error, off };

std::string_view name(LogLevel level);
std::optional<LogLevel> parse_log_level(std::string_view text);

class Log {
 public:
  using Sink = std::function<void(LogLevel, std::string_view)>;

  Log() = default;  // discards everything
  Log(LogLevel level, Sink sink) : level_(level), sink_(std::move(sink)) {}
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  bool enabled(LogLevel level) const { return level >= level_ && level != LogLevel::off && sink_ != nullptr; }
  // The sink is called by one thread at a time (so it must not log here itself); what it throws is swallowed.
  void write(LogLevel level, std::string_view message) noexcept;

  template <typename... Args>
  void debug(std::string_view pattern, const Args&... args) {
    if (enabled(LogLevel::debug)) write(LogLevel::debug, format_text(pattern, args...));
  }
  template <typename... Args>
  void info(std::string_view pattern, const Args&... args) {
    if (enabled(LogLevel::info)) write(LogLevel::info, format_text(pattern, args...));
  }
  template <typename... Args>
  void warning(std::string_view pattern, const Args&... args) {
    if (enabled(LogLevel::warning)) write(LogLevel::warning, format_text(pattern, args...));
  }

 private:
  LogLevel level_ = LogLevel::off;
  Sink sink_;
  std::mutex mutex_;
};

}  // namespace gpuforge
