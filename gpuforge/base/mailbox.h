// Where threads that must not wait, such as a stream's host functions, leave word for one that reads. Holds
// nothing but the notices, so that anybody may be its last owner. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace gpuforge {

template <typename Notice>
class Mailbox {
 public:
  void post(Notice notice) {
    {
      const std::lock_guard lock(mutex_);
      notices_.push_back(std::move(notice));
    }
    changed_.notify_one();
  }
  // The next take returns though nothing may have come.
  void wake() {
    {
      const std::lock_guard lock(mutex_);
      awake_ = true;
    }
    changed_.notify_one();
  }
  // What has come; waits for the first, for a wake, or for `patience` where there is one.
  std::vector<Notice> take(std::optional<std::chrono::milliseconds> patience) {
    std::unique_lock lock(mutex_);
    const auto something = [this] { return !notices_.empty() || awake_; };
    if (patience) {
      changed_.wait_for(lock, *patience, something);
    } else {
      changed_.wait(lock, something);
    }
    awake_ = false;
    return std::exchange(notices_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Notice> notices_;
  bool awake_ = false;
};

}  // namespace gpuforge
