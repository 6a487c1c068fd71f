// What the disk cache asks of the operating system: a lock between processes, and who still runs. Not
// installed.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>

namespace gpuforge::jit {

// Held by one thread of one process at a time; the system releases it when its holder dies.
class FileLock {
 public:
  // Makes the file when it is not there. Empty after `timeout`, or when files cannot be locked here.
  static std::unique_ptr<FileLock> acquire(const std::filesystem::path& path,
                                           std::chrono::milliseconds timeout);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

std::int64_t current_process();
bool process_runs(std::int64_t process);  // true in doubt

}  // namespace gpuforge::jit
