// Ctrl-C and its relatives: the program ends at once with 128 + the signal's number, but never in the middle
// of a file it is writing.
#pragma once

#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gpuforge::cli {

class InterruptWatcher {
 public:
  // Make it before any other thread: the signals are blocked everywhere and read by one thread of this.
  // Signals the parent chose to ignore (nohup, background jobs) stay ignored.
  InterruptWatcher();
  ~InterruptWatcher();
  InterruptWatcher(const InterruptWatcher&) = delete;
  InterruptWatcher& operator=(const InterruptWatcher&) = delete;

  // Runs on that thread before an interrupt ends the program.
  void add_cleanup(std::function<void()> cleanup);
  // While held, an interrupt waits; a second one does not.
  [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(writing_); }

 private:
  void watch();
  std::mutex writing_;
  std::mutex cleanups_guard_;
  std::vector<std::function<void()>> cleanups_;
  int signals_ = -1;  // file descriptors
  int stop_ = -1;
  std::thread thread_;
};

}  // namespace gpuforge::cli
