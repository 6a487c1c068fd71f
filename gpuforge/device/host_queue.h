// The thread behind a stream of a device that works on the host: an ordered queue of host functions. Not
// installed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "gpuforge/device/work_error.h"

namespace gpuforge::device {

// Thread-safe. The thread starts with the first work and shares ownership of the queue, so a queue that its
// stream has closed drains in the background.
class HostQueue : public std::enable_shared_from_this<HostQueue> {
 public:
  using Work = std::function<void()>;

  // `kept` lives until the queue is drained: the memory that queued work touches.
  HostQueue(std::shared_ptr<WorkErrors> errors, std::shared_ptr<void> kept)
      : errors_(std::move(errors)), kept_(std::move(kept)) {}

  void push(Work work);
  // Work that tells others: it counts as completed from the moment it runs, whoever asks. It must be short,
  // and call nothing of the queue.
  void push_told(Work told);
  bool idle() const;
  // For all work pushed before the call. Work of this queue that waits for it would wait for itself: an
  // Error.
  void wait();
  // No more work will come. Waits for nothing: what is queued still runs.
  void close() noexcept;
  WorkErrors& errors() const { return *errors_; }

 private:
  struct Item {
    Work work;
    bool told = false;
  };
  void push(Item item);
  static void run(const std::shared_ptr<HostQueue>& queue);

  const std::shared_ptr<WorkErrors> errors_;
  const std::shared_ptr<void> kept_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable finished_;
  std::deque<Item> work_;
  std::uint64_t pushed_ = 0;
  std::uint64_t completed_ = 0;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace gpuforge::device
