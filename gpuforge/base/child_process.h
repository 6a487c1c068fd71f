// A program run with a time limit: for what may hang or crash, such as the first call into a GPU driver.
#pragma once

#include <chrono>
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

}  // namespace gpuforge
