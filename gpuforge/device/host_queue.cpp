#include "gpuforge/device/host_queue.h"

#include <system_error>
#include <utility>

namespace gpuforge::device {

void HostQueue::push(Work work) {
  push(Item{std::move(work), false});
}

void HostQueue::push_told(Work told) {
  push(Item{std::move(told), true});
}

void HostQueue::push(Item item) {
  {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(item));
    if (!thread_.joinable()) {
      try {
        thread_ = std::thread([queue = shared_from_this()] { run(queue); });
      } catch (const std::system_error& error) {
        work_.pop_back();
        throw Error(ErrorCode::unavailable, format_text("{}: the machine gives no thread for a stream: {}",
                                                        errors_->device_name(), error.what()));
      }
    }
    ++pushed_;
  }
  wake_.notify_one();
}

bool HostQueue::idle() const {
  const std::lock_guard lock(mutex_);
  return completed_ == pushed_;
}

void HostQueue::wait() {
  std::unique_lock lock(mutex_);
  GPUFORGE_CHECK(thread_.get_id() != std::this_thread::get_id(),
                 "{}: work of a stream cannot synchronize with its own stream: it would wait for itself",
                 errors_->device_name());
  const std::uint64_t ticket = pushed_;
  finished_.wait(lock, [&] { return completed_ >= ticket; });
}

// The last reference to a stream may be held by its own work, so this may run on the queue's thread.
void HostQueue::close() noexcept {
  std::thread thread;
  bool idle_now = false;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    idle_now = completed_ == pushed_;
    thread = std::move(thread_);
  }
  wake_.notify_one();
  if (!thread.joinable()) return;
  if (idle_now) {
    thread.join();  // it has nothing left to do but to end
  } else {
    thread.detach();
  }
}

void HostQueue::run(const std::shared_ptr<HostQueue>& queue) {
  std::unique_lock lock(queue->mutex_);
  for (;;) {
    queue->wake_.wait(lock, [&] { return !queue->work_.empty() || queue->closed_; });
    if (queue->work_.empty()) return;
    Item item = std::move(queue->work_.front());
    queue->work_.pop_front();
    if (!item.told) {
      lock.unlock();
      queue->errors_->run(item.work);
      item.work = nullptr;  // before it counts as completed: who waits finds everything it held released
      lock.lock();
    }
    ++queue->completed_;
    if (item.told) item.work();
    queue->finished_.notify_all();
  }
}

}  // namespace gpuforge::device
