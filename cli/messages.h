// stderr: errors, warnings and notes, one line each, and the progress line of a terminal, which they never
// tear.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "cli/terminal.h"
#include "gpuforge/base/log.h"

namespace gpuforge::cli {

class Messages {
 public:
  Messages(bool is_terminal, bool color) : is_terminal_(is_terminal), style_(color) {}
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  // What is below `level` is not shown.
  void set_level(LogLevel level);
  void set_color(bool color);
  bool shows(LogLevel level);
  // "gpuforge: error: ...", "gpuforge: warning: ...", "gpuforge: ..."
  void write(LogLevel level, std::string_view text);
  // Talk that is neither: shown unless --quiet.
  void note(std::string_view text);
  int warnings();

  bool has_progress_line() const { return is_terminal_; }
  void show_progress(std::string_view text);
  void hide_progress();

 private:
  void print(std::string_view text);
  void erase();
  bool is_terminal_;
  std::mutex mutex_;
  Style style_;
  LogLevel level_ = LogLevel::warning;
  int warnings_ = 0;
  bool progress_shown_ = false;
};

// Says what is going on, on a terminal, once it has taken a second; gone when done.
class Progress {
 public:
  Progress(Messages& messages, std::string text);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void run();
  Messages& messages_;
  std::string text_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace gpuforge::cli
