// A program run with a time limit: for what may hang or crash, such as the first call into a GPU driver.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace gpuforge {

struct ChildResult {
  enum class End { exited, crashed, timed_out, not_started };
  End end = End::not_started;
  int code = 0;  // exit code, signal, or errno
  std::string out;
  std::string err;
  bool good() const { return end == End::exited && code == 0; }
};

// "ended by signal 11 (Segmentation fault)", "gave no answer in 10 s", "exit code 3"; for messages.
std::string describe(const ChildResult& result, std::chrono::milliseconds limit);

// Killed when the limit passes, and when this process dies. Never waits much longer than the limit, even for
// a child that cannot be killed.
ChildResult run_child(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                      std::chrono::milliseconds limit);

// A program that someone watches: what it prints is passed on as it comes, and kept. It runs in a process
// group of its own, so that a signal reaches it once, by end(), and until it ends by itself.
class WatchedChild {
 public:
  static constexpr std::size_t kKeptBytes = 4 << 20;
  // Its stdout and stderr go to these file descriptors.
  WatchedChild(const std::filesystem::path& program, const std::vector<std::string>& arguments, int out,
               int err);
  ~WatchedChild();  // kills it if it still runs
  WatchedChild(const WatchedChild&) = delete;
  WatchedChild& operator=(const WatchedChild&) = delete;

  // How it ended; `out` has both streams as they came, of more than kKeptBytes the newest.
  ChildResult wait();
  // From another thread, while wait() waits: sends the signal to the program and those it started, and waits;
  // what is still there after the limit is killed.
  void end(int signal, std::chrono::milliseconds limit);

 private:
  void pass_on(int from, int to, std::string& kept) const;
  int pid_ = -1;
  int streams_[2] = {-1, -1};
  int targets_[2] = {-1, -1};
  ChildResult result_;
  std::atomic<bool> ended_ = false;
};

}  // namespace gpuforge
