#include "gpuforge/memory/adaptor.h"

#include <algorithm>
#include <mutex>
#include <random>
#include <unordered_map>
#include <utility>

#include "gpuforge/base/error.h"

namespace gpuforge::memory {
namespace {

using device::Address;

// What every adaptor passes on. Base is the interface the adaptor adds to Allocator's.
template <typename Base>
class Wrapper : public Base {
 public:
  explicit Wrapper(std::shared_ptr<Allocator> inner) : inner_(std::move(inner)) {
    GPUFORGE_CHECK(inner_ != nullptr, "memory: an adaptor needs an allocator to wrap, and none was given");
  }
  device::Device& device() const override { return inner_->device(); }
  bool evicts() const override { return inner_->evicts(); }
  Hold use(Address address, device::Stream& stream) override { return inner_->use(address, stream); }
  Hold pin(Address address, std::size_t bytes) override { return inner_->pin(address, bytes); }

 protected:
  Allocator& inner() { return *inner_; }
  const std::string& name() const { return inner_->device().facts().name; }

 private:
  const std::shared_ptr<Allocator> inner_;
};

class Limiting final : public Wrapper<LimitAllocator> {
 public:
  Limiting(std::shared_ptr<Allocator> inner, std::size_t limit, std::string who)
      : Wrapper(std::move(inner)), who_(who.empty() ? "" : who + ": "), limit_(limit) {}

  Address allocate(std::size_t bytes, device::Stream& stream) override {
    {
      const std::lock_guard lock(mutex_);
      if (bytes > limit_ - std::min(limit_, live_)) {
        throw Error(
            ErrorCode::out_of_memory,
            format_text(
                "{}: {}an allocation of {} bytes wanted, and of a limit of {} bytes {} are in use and "
                "{} are free; free something first, or raise the limit",
                name(), who_, bytes, limit_, live_, limit_ - std::min(limit_, live_)));
      }
      live_ += bytes;
    }
    try {
      return inner().allocate(bytes, stream);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      live_ -= bytes;
      throw;
    }
  }
  void free(Address address, std::size_t bytes, device::Stream& stream) noexcept override {
    inner().free(address, bytes, stream);
    const std::lock_guard lock(mutex_);
    live_ -= address == 0 ? 0 : std::min(live_, bytes);
  }
  void set_limit(std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    limit_ = bytes;
  }
  std::size_t live_bytes() const override {
    const std::lock_guard lock(mutex_);
    return live_;
  }

 private:
  const std::string who_;
  mutable std::mutex mutex_;
  std::size_t limit_;
  std::size_t live_ = 0;
};

class Counting final : public Wrapper<StatisticsAllocator> {
 public:
  using Wrapper::Wrapper;

  Address allocate(std::size_t bytes, device::Stream& stream) override {
    Address address = 0;
    try {
      address = inner().allocate(bytes, stream);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      ++counts_.failures;
      throw;
    }
    if (address == 0) return address;
    const std::lock_guard lock(mutex_);
    ++counts_.allocations;
    ++counts_.live_blocks;
    counts_.live_bytes += bytes;
    counts_.total_bytes += bytes;
    counts_.peak_bytes = std::max(counts_.peak_bytes, counts_.live_bytes);
    counts_.largest_bytes = std::max(counts_.largest_bytes, bytes);
    return address;
  }
  void free(Address address, std::size_t bytes, device::Stream& stream) noexcept override {
    inner().free(address, bytes, stream);
    if (address == 0) return;
    const std::lock_guard lock(mutex_);
    ++counts_.frees;
    --counts_.live_blocks;
    counts_.live_bytes -= bytes;
  }
  AllocationStatistics statistics() const override {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  mutable std::mutex mutex_;
  AllocationStatistics counts_;
};

// The lock is held over the inner call too: the order of the log is an order the inner allocator has seen.
class Logging final : public Wrapper<LogAllocator> {
 public:
  using Wrapper::Wrapper;

  Address allocate(std::size_t bytes, device::Stream& stream) override {
    const std::lock_guard lock(mutex_);
    const std::uint32_t number = stream_number(stream);
    const Address address = inner().allocate(bytes, stream);
    if (address == 0) return address;
    live_[address] = next_;
    trace_.push_back({TraceStep::Kind::allocate, next_++, number, bytes});
    return address;
  }
  void free(Address address, std::size_t bytes, device::Stream& stream) noexcept override {
    const std::lock_guard lock(mutex_);
    inner().free(address, bytes, stream);
    const auto found = live_.find(address);
    if (found == live_.end()) return;
    try {
      trace_.push_back({TraceStep::Kind::free, found->second, stream_number(stream), 0});
    } catch (...) {  // no memory for the line
    }
    live_.erase(found);
  }
  Trace trace() const override {
    const std::lock_guard lock(mutex_);
    return trace_;
  }

 private:
  std::uint32_t stream_number(device::Stream& stream) {
    const auto next = static_cast<std::uint32_t>(streams_.size());
    return streams_.try_emplace(&stream, next).first->second;
  }

  mutable std::mutex mutex_;
  Trace trace_;
  std::uint32_t next_ = 0;
  std::unordered_map<Address, std::uint32_t> live_;
  std::unordered_map<const device::Stream*, std::uint32_t> streams_;
};

class FailingAllocator final : public Wrapper<Allocator> {
 public:
  FailingAllocator(std::shared_ptr<Allocator> inner, FailurePlan plan)
      : Wrapper(std::move(inner)), plan_(std::move(plan)), random_(plan_.seed) {}

  Address allocate(std::size_t bytes, device::Stream& stream) override {
    if (const std::size_t number = failing()) {
      throw Error(
          ErrorCode::out_of_memory,
          format_text("{}: an allocation of {} bytes wanted, {} bytes are free, and allocation {} was "
                      "to fail",
                      name(), bytes, inner().device().memory_info().free_bytes, number));
    }
    return inner().allocate(bytes, stream);
  }
  void free(Address address, std::size_t bytes, device::Stream& stream) noexcept override {
    inner().free(address, bytes, stream);
  }

 private:
  // The number of this allocation if it is to fail, else 0.
  std::size_t failing() {
    const std::lock_guard lock(mutex_);
    ++count_;
    const bool chosen = std::find(plan_.numbers.begin(), plan_.numbers.end(), count_) != plan_.numbers.end();
    const double drawn = static_cast<double>(random_() >> 11) * 0x1p-53;
    return chosen || drawn < plan_.probability ? count_ : 0;
  }

  const FailurePlan plan_;
  std::mutex mutex_;
  std::size_t count_ = 0;
  std::mt19937_64 random_;
};

}  // namespace

std::shared_ptr<LimitAllocator> make_limit_allocator(std::shared_ptr<Allocator> inner, std::size_t bytes,
                                                     std::string who) {
  return std::make_shared<Limiting>(std::move(inner), bytes, std::move(who));
}

std::shared_ptr<StatisticsAllocator> make_statistics_allocator(std::shared_ptr<Allocator> inner) {
  return std::make_shared<Counting>(std::move(inner));
}

std::shared_ptr<LogAllocator> make_log_allocator(std::shared_ptr<Allocator> inner) {
  return std::make_shared<Logging>(std::move(inner));
}

std::shared_ptr<Allocator> make_failing_allocator(std::shared_ptr<Allocator> inner, FailurePlan plan) {
  GPUFORGE_CHECK(plan.probability >= 0 && plan.probability <= 1,
                 "memory: a probability of failure between 0 and 1 was expected, found {}", plan.probability);
  return std::make_shared<FailingAllocator>(std::move(inner), std::move(plan));
}

std::string to_string(const AllocationStatistics& now) {
  return format_text(
      "{} bytes in {} blocks live, {} at most; {} allocations ({} bytes, the largest {}), {} frees, {} "
      "failures",
      now.live_bytes, now.live_blocks, now.peak_bytes, now.allocations, now.total_bytes, now.largest_bytes,
      now.frees, now.failures);
}

}  // namespace gpuforge::memory
