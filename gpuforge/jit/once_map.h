// A map whose values are made once: concurrent requests for one key wait for the first, and get its Error
// when it fails; the next request tries again. Reading a value that is there takes a shared lock. Not
// installed.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "gpuforge/base/error.h"

namespace gpuforge::jit {

// Hash and Equal are transparent: `View` is what a key is looked up by, Key is what is kept.
template <typename Key, typename View, typename Value, typename Hash, typename Equal>
class OnceMap {
 public:
  // The value if it is there, without waiting.
  std::shared_ptr<Value> find(const View& view) const {
    const std::shared_lock guard(mutex_);
    const auto found = values_.find(view);
    return found == values_.end() ? nullptr : found->second;
  }

  // `make` returns a shared_ptr<Value> and runs without the map's lock.
  template <typename Make>
  std::shared_ptr<Value> get(const View& view, const Make& make) {
    std::shared_ptr<Pending> pending;
    {
      std::unique_lock guard(mutex_);
      if (const auto found = values_.find(view); found != values_.end()) return found->second;
      const auto waiting = pending_.find(view);
      if (waiting == pending_.end()) {
        pending = std::make_shared<Pending>();
        pending_.emplace(Key(view), pending);
      } else {
        const std::shared_ptr<Pending> other = waiting->second;
        guard.unlock();
        return wait(*other);
      }
    }
    std::shared_ptr<Value> value;
    std::optional<Error> error;
    try {
      value = make();
    } catch (const Error& caught) {
      error = caught;
    } catch (const std::bad_alloc&) {
      error = Error(ErrorCode::out_of_memory, "jit: the host is out of memory");
    } catch (const std::exception& caught) {
      error = Error(ErrorCode::internal, format_text("jit: {}", caught.what()));
    }
    finish(view, *pending, value, error);
    if (error) throw *error;
    return value;
  }

 private:
  struct Pending {
    std::mutex mutex;
    std::condition_variable ready;
    bool done = false;
    std::shared_ptr<Value> value;
    std::optional<Error> error;
  };

  static std::shared_ptr<Value> wait(Pending& pending) {
    std::unique_lock guard(pending.mutex);
    pending.ready.wait(guard, [&] { return pending.done; });
    if (pending.error) throw Error(*pending.error);
    return pending.value;
  }

  void finish(const View& view, Pending& pending, const std::shared_ptr<Value>& value,
              const std::optional<Error>& error) {
    {
      const std::unique_lock guard(mutex_);
      if (!error) values_.emplace(Key(view), value);
      pending_.erase(pending_.find(view));
    }
    const std::lock_guard guard(pending.mutex);
    pending.value = value;
    pending.error = error;
    pending.done = true;
    pending.ready.notify_all();
  }

  mutable std::shared_mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<Value>, Hash, Equal> values_;
  std::unordered_map<Key, std::shared_ptr<Pending>, Hash, Equal> pending_;
};

}  // namespace gpuforge::jit
