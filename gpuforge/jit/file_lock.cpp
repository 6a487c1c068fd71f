#include "gpuforge/jit/file_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

namespace gpuforge::jit {

std::unique_ptr<FileLock> FileLock::acquire(const std::filesystem::path& path,
                                            std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kLongestPause = std::chrono::milliseconds(10);
  const Clock::time_point deadline = Clock::now() + timeout;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (descriptor < 0) return nullptr;
  std::unique_ptr<FileLock> lock(new FileLock(descriptor));
  // flock has no timeout of its own: ask again after short pauses.
  for (auto pause = std::chrono::milliseconds(1);; pause = std::min(pause * 2, kLongestPause)) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return lock;
    if (errno != EWOULDBLOCK && errno != EINTR) return nullptr;
    if (Clock::now() >= deadline) return nullptr;
    std::this_thread::sleep_for(pause);
  }
}

FileLock::~FileLock() {
  // A child forked meanwhile shares the descriptor: unlocking, not only closing, frees it there too.
  ::flock(descriptor_, LOCK_UN);
  ::close(descriptor_);
}

std::int64_t current_process() {
  return ::getpid();
}

bool process_runs(std::int64_t process) {
  if (process <= 0 || process > std::int64_t{0x7fffffff}) return false;
  return ::kill(static_cast<pid_t>(process), 0) == 0 || errno != ESRCH;
}

}  // namespace gpuforge::jit
