#include "cli/messages.h"

#include <unistd.h>

#include <array>
#include <chrono>

namespace gpuforge::cli {

void Messages::set_level(LogLevel level) {
  const std::lock_guard lock(mutex_);
  level_ = level;
}

void Messages::set_color(bool color) {
  const std::lock_guard lock(mutex_);
  style_ = Style(color);
}

bool Messages::shows(LogLevel level) {
  const std::lock_guard lock(mutex_);
  return level >= level_;
}

int Messages::warnings() {
  const std::lock_guard lock(mutex_);
  return warnings_;
}

void Messages::write(LogLevel level, std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (level == LogLevel::warning) ++warnings_;
  if (level < level_) return;
  std::string start = "gpuforge: ";
  if (level == LogLevel::error) start += style_(Color::red, "error:") + " ";
  if (level == LogLevel::warning) start += style_(Color::yellow, "warning:") + " ";
  print(start + std::string(text) + "\n");
}

void Messages::note(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (level_ <= LogLevel::warning) print("gpuforge: " + std::string(text) + "\n");
}

void Messages::show_progress(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (!is_terminal_ || level_ > LogLevel::warning) return;
  erase();
  print(text);
  progress_shown_ = true;
}

void Messages::hide_progress() {
  const std::lock_guard lock(mutex_);
  erase();
}

// One write per message; a stderr that cannot be written to is nobody's fault.
void Messages::print(std::string_view text) {
  erase();
  const std::string all(text);
  std::size_t done = 0;
  while (done < all.size()) {
    const ::ssize_t wrote = ::write(STDERR_FILENO, all.data() + done, all.size() - done);
    if (wrote <= 0) return;
    done += static_cast<std::size_t>(wrote);
  }
}

void Messages::erase() {
  if (!progress_shown_) return;
  progress_shown_ = false;
  constexpr std::string_view kErase = "\r\x1b[K";
  [[maybe_unused]] const ::ssize_t ignored = ::write(STDERR_FILENO, kErase.data(), kErase.size());
}

Progress::Progress(Messages& messages, std::string text) : messages_(messages), text_(std::move(text)) {
  if (messages_.has_progress_line()) thread_ = std::thread([this] { run(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_one();
  thread_.join();
  messages_.hide_progress();
}

void Progress::run() {
  constexpr std::array<char, 4> kSpinner = {'|', '/', '-', '\\'};
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, std::chrono::seconds(1), [this] { return done_; })) return;
  for (std::size_t turn = 0; !done_; ++turn) {
    const auto elapsed = std::chrono::steady_clock::now() - start;
    const double seconds = std::chrono::duration<double>(elapsed).count();
    messages_.show_progress(
        format_text("{} {} ({:.0f} s)", kSpinner[turn % kSpinner.size()], text_, seconds));
    changed_.wait_for(lock, std::chrono::milliseconds(200), [this] { return done_; });
  }
}

}  // namespace gpuforge::cli
