// Streams and their caches: the fast way. pool_pages.cpp has the slow one.
#include "gpuforge/memory/pool.h"

#include <algorithm>
#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/memory/pool_state.h"

namespace gpuforge::memory {
namespace {

constexpr std::size_t kPageBytes = std::size_t{2} << 20;
// More cached large blocks than this are given back to the ranges they lie in, where they join.
constexpr std::size_t kQuickLarge = 64;
// Nobody has as much, and no sum of sizes below it overflows.
constexpr std::size_t kMostBytes = std::size_t{1} << 50;

std::size_t page_bytes(device::VirtualMemory* memory, std::size_t wanted, const std::string& name) {
  const std::size_t granularity = memory != nullptr ? memory->granularity() : kUnitBytes;
  if (wanted == 0) return (kPageBytes + granularity - 1) / granularity * granularity;
  GPUFORGE_CHECK(wanted % granularity == 0 && wanted % kUnitBytes == 0,
                 "{}: pool: pages of {} bytes were asked for; a multiple of {} was expected", name, wanted,
                 std::max(granularity, kUnitBytes));
  return wanted;
}

std::size_t bucket_of(const device::Stream& stream) {
  return (reinterpret_cast<std::uintptr_t>(&stream) * 0x9E3779B97F4A7C15u) >> 58;
}
static_assert(kStreamBuckets == 64);

std::optional<Address> pop_large(Shard& shard, std::size_t units) {
  for (auto at = shard.large.rbegin(); at != shard.large.rend(); ++at) {
    if (at->units != units) continue;
    const Address address = at->address;
    *at = shard.large.back();
    shard.large.pop_back();
    return address;
  }
  return std::nullopt;
}

std::optional<Address> pop(Shard& shard, std::size_t units, unsigned size_class) {
  if (units > 0) return pop_large(shard, units);
  std::vector<Address>& list = shard.small[size_class];
  if (list.empty()) return std::nullopt;
  const Address address = list.back();
  list.pop_back();
  return address;
}

void count(Shard& shard, unsigned tag, std::size_t bytes, std::int64_t sign) {
  shard.tags[tag].bytes += sign * static_cast<std::int64_t>(bytes);
  shard.tags[tag].blocks += sign;
  shard.block_bytes += sign * static_cast<std::int64_t>(block_bytes(bytes));
}

}  // namespace

unsigned thread_number() {
  static std::atomic<unsigned> next = 0;
  thread_local const unsigned mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

PoolImpl::PoolImpl(std::shared_ptr<device::Device> device, PoolOptions options)
    : device_(std::move(device)),
      options_(std::move(options)),
      virtual_memory_(options_.virtual_memory ? device_->virtual_memory() : nullptr),
      page_bytes_(page_bytes(virtual_memory_, options_.page_bytes, device_->facts().name)),
      page_units_(page_bytes_ / kUnitBytes),
      captured_([this](std::size_t bytes, unsigned tag) { return allocate_idle(bytes, tag); },
                [this](Address address, std::size_t bytes, unsigned tag, device::Stream* stream) {
                  free_for(address, bytes, stream != nullptr ? *stream : *quiet_stream_, tag);
                },
                block_bytes),
      memory_(std::make_shared<PoolMemory>()),
      host_(options_.host) {
  memory_->device = device_;
  if (host_ == nullptr) host_ = std::make_shared<PinnedPool>(device_);
  counted_.device = device_->facts().name;
  counted_.quota_bytes = options_.quota_bytes;
}

// Work of any stream may still use the memory: each stream that has some keeps it until that is done.
PoolImpl::~PoolImpl() {
  for (auto& [buffer, event] : leaving_hosts_) memory_->hosts.push_back(std::move(buffer));
  for (auto& [address, block] : evictables_) memory_->hosts.push_back(std::move(block.host));
  std::vector<std::shared_ptr<device::Stream>> streams;
  for (const StreamEntry& entry : memory_->entries) {
    if (entry.stream != nullptr) streams.push_back(entry.stream);
  }
  if (copy_stream_ != nullptr) streams.push_back(copy_stream_);
  for (const auto& stream : streams) {
    try {
      if (!stream->capturing() && !stream->done()) stream->enqueue([kept = memory_] {});
    } catch (...) {  // a stream that takes no more work has none that runs
    }
  }
}

PoolMemory::~PoolMemory() {
  for (StreamEntry& entry : entries) {
    for (const auto& region : entry.arena.regions) {
      if (region->range == nullptr && entry.stream != nullptr) device->free(region->begin, *entry.stream);
    }
  }
}

bool PoolImpl::in_capture(const device::Stream& stream) const {
  return device_->capturing() && stream.capturing() && &stream.device() == device_.get();
}

// In the order of a stream that runs nothing, as any other block; if that had to wait for another stream's
// free, so does the caller.
Address PoolImpl::allocate_idle(std::size_t bytes, unsigned tag) {
  {
    const std::lock_guard lock(mutex_);
    if (quiet_stream_ == nullptr) quiet_stream_ = device_->make_stream();
  }
  const Address address = allocate_for(bytes, *quiet_stream_, tag);
  quiet_stream_->synchronize();
  return address;
}

StreamEntry& PoolImpl::entry(device::Stream& stream) {
  StreamEntry* at = buckets_[bucket_of(stream)].load(std::memory_order_acquire);
  for (; at != nullptr; at = at->next) {
    // The stream is alive, so that no entry of an older stream can have its address.
    if (at->key.load(std::memory_order_acquire) == &stream) return *at;
  }
  return add_entry(stream);
}

StreamEntry& PoolImpl::add_entry(device::Stream& stream) {
  GPUFORGE_CHECK(&stream.device() == device_.get(),
                 "{}: the pool got a stream of another device ({}); use one that this device made",
                 counted_.device, stream.device().facts().name);
  const std::lock_guard lock(mutex_);
  std::atomic<StreamEntry*>& bucket = buckets_[bucket_of(stream)];
  StreamEntry* unused = nullptr;
  for (StreamEntry* at = bucket.load(); at != nullptr; at = at->next) {
    if (at->key.load() == &stream) return *at;
    if (at->key.load() == nullptr) unused = at;
  }
  if (unused == nullptr) {
    unused = &memory_->entries.emplace_back();
    unused->stream = stream.shared_from_this();
    unused->key.store(&stream);
    unused->next = bucket.load();
    bucket.store(unused, std::memory_order_release);
    return *unused;
  }
  unused->stream = stream.shared_from_this();
  unused->key.store(&stream, std::memory_order_release);
  return *unused;
}

Address PoolImpl::allocate_for(std::size_t bytes, device::Stream& stream, unsigned tag) {
  if (bytes == 0) return 0;
  if (in_capture(stream)) return captured_.allocate(bytes, stream, tag, shared_from_this());
  StreamEntry& own = entry(stream);
  Shard& shard = own.shards[thread_number() % kShards];
  const bool small = bytes <= kLargestSmallBytes;
  {
    const std::lock_guard lock(shard.lock);
    const std::optional<Address> cached =
        small ? pop(shard, 0, size_class(bytes)) : pop_large(shard, unit_count(bytes));
    if (cached) {
      ++shard.allocations;
      ++shard.reuses;
      count(shard, tag, bytes, 1);
      return *cached;
    }
  }
  return allocate_slowly(own, shard, bytes, tag);
}

void PoolImpl::free_for(Address address, std::size_t bytes, device::Stream& stream, unsigned tag) noexcept {
  if (address == 0 || captured_.free(address, stream)) return;
  try {
    Shard& shard = entry(stream).shards[thread_number() % kShards];
    const std::lock_guard lock(shard.lock);
    if (bytes <= kLargestSmallBytes) {
      shard.small[size_class(bytes)].push_back(address);
    } else {
      shard.large.push_back({unit_count(bytes), address});
    }
    count(shard, tag, bytes, -1);
  } catch (...) {  // a block that cannot be freed in order is not freed early: it goes with the pool
  }
}

std::optional<Address> PoolImpl::from_other_shards(StreamEntry& entry, std::size_t units,
                                                   unsigned size_class) {
  for (Shard& shard : entry.shards) {
    const std::lock_guard lock(shard.lock);
    if (const std::optional<Address> found = pop(shard, units, size_class)) return found;
  }
  return std::nullopt;
}

// With the pool's lock: from the gentlest means to the hardest.
std::optional<Address> PoolImpl::take_locked(StreamEntry& entry, Shard& shard, std::size_t bytes) {
  const bool small = bytes <= kLargestSmallBytes;
  const unsigned index = small ? size_class(bytes) : 0;
  const std::size_t units = small ? 0 : unit_count(bytes);
  const auto take = [&](Effort effort) {
    return small ? take_small(entry, shard, index, effort) : take_units(entry.arena, units, &entry, effort);
  };
  settle();
  // Those that this stream freed and that were offered to others, who have not taken them.
  for (auto at = pending_.begin(); at != pending_.end(); ++at) {
    if (at->by != &entry || at->units != units || (small && at->size_class != index)) continue;
    const Address address = at->address;
    pending_.erase(at);
    return address;
  }
  if (small) {
    offer(entry, index);
    if (!settled_[index].empty()) {
      const Address address = settled_[index].back();
      settled_[index].pop_back();
      return address;
    }
  }
  std::size_t quick = 0;
  for (Shard& each : entry.shards) {
    const std::lock_guard lock(each.lock);
    quick += each.large.size();
  }
  if (!small || quick > kQuickLarge) flush_large(entry);
  if (const auto found = take(Effort::gentle)) return found;
  if (const auto found = wait_for_another(entry, units, index)) return found;
  return take(Effort::every);
}

// Calls `take` with the pool's lock held; where it needs other streams to get on, waits without the lock and
// calls it again.
template <typename Take>
void PoolImpl::with_lock(const Take& take) {
  // More than once: a driver may call an event done a little before the stream it was recorded on. Not for
  // ever: others may go on giving the streams work.
  constexpr int kMostWaits = 4;
  for (int waits = 0;; ++waits) {
    WaitFirst wait;
    {
      const std::lock_guard lock(mutex_);
      may_wait_ = waits < kMostWaits;
      try {
        retire_streams();
        take();
        relieve_pressure();
        return;
      } catch (WaitFirst& first) {
        wait = std::move(first);
        ++counted_.host_waits;
      }
    }
    for (const auto& event : wait.events) event->synchronize();
  }
}

Address PoolImpl::allocate_slowly(StreamEntry& entry, Shard& shard, std::size_t bytes, unsigned tag) {
  const bool small = bytes <= kLargestSmallBytes;
  std::optional<Address> taken =
      from_other_shards(entry, small ? 0 : unit_count(bytes), small ? size_class(bytes) : 0);
  if (!taken) {
    with_lock([&] {
      if (bytes <= kMostBytes) taken = take_locked(entry, shard, bytes);
      if (!taken) fail_out_of_memory(bytes);
    });
  }
  const std::lock_guard lock(shard.lock);
  ++shard.allocations;
  count(shard, tag, bytes, 1);
  return *taken;
}

Address PoolImpl::allocate_evictable(std::size_t bytes, device::Stream& stream, unsigned tag) {
  if (bytes == 0) return 0;
  if (in_capture(stream)) return captured_.allocate(bytes, stream, tag, shared_from_this());
  StreamEntry& own = entry(stream);
  Address address = 0;
  with_lock([&] {
    settle();
    std::optional<Address> taken;
    std::size_t units = 0;
    if (bytes <= kMostBytes) {
      units = (bytes + page_bytes_ - 1) / page_bytes_ * page_units_;
      taken = take_units(memory_->movable, units, nullptr, Effort::every);
    }
    if (!taken) fail_out_of_memory(bytes);
    address = *taken;
    Evictable& block = evictables_[address];
    block.bytes = bytes;
    block.units = units;
    block.region = &region_of(address);
    block.last_use = ++clock_;
    block.users.push_back({own.stream, nullptr});
  });
  Shard& shard = own.shards[thread_number() % kShards];
  const std::lock_guard lock(shard.lock);
  ++shard.allocations;
  count(shard, tag, bytes, 1);
  return address;
}

Hold PoolImpl::use_evictable(Address address, device::Stream& stream) {
  if (captured_.has(address)) return {};
  static_cast<void>(entry(stream));
  with_lock([&] { make_usable(address, stream); });
  return Hold(nullptr, [pool = shared_from_this(), address](const void*) {
    const std::lock_guard lock(pool->mutex_);
    const auto found = pool->evictables_.find(address);
    if (found != pool->evictables_.end()) --found->second.holds;
  });
}

void PoolImpl::prefetch(Address address, device::Stream& stream) {
  GPUFORGE_CHECK(!stream.capturing(), "{}: prefetch on a stream that is capturing: bring it back before",
                 counted_.device);
  if (is_evictable(address)) static_cast<void>(use_evictable(address, stream));
}

// Only noted: what frees may be work of a stream, where the device must not be asked.
void PoolImpl::free_evictable(Address address, std::size_t bytes, device::Stream& stream,
                              unsigned tag) noexcept {
  if (address == 0) return;
  // One of a capture was never evictable.
  if (captured_.has(address)) return free_for(address, bytes, stream, tag);
  try {
    StreamEntry& own = entry(stream);
    {
      const std::lock_guard lock(freed_lock_);
      freed_evictables_.emplace_back(address, own.stream);
    }
    Shard& shard = own.shards[thread_number() % kShards];
    const std::lock_guard lock(shard.lock);
    count(shard, tag, bytes, -1);
  } catch (...) {
  }
}

std::shared_ptr<Pool> make_pool(std::shared_ptr<device::Device> device, PoolOptions options) {
  GPUFORGE_CHECK(device != nullptr, "memory: a pool needs a device, and none was given");
  GPUFORGE_CHECK(
      options.soft_share > 0 && options.soft_share <= options.hard_share && options.hard_share <= 1,
      "{}: pool: the shares of the quota must be 0 < soft <= hard <= 1, and are {} and {}",
      device->facts().name, options.soft_share, options.hard_share);
  GPUFORGE_CHECK(options.host == nullptr || &options.host->device() == device.get(),
                 "{}: pool: the pinned pool given is of another device, {}", device->facts().name,
                 options.host->device().facts().name);
  return std::make_shared<PoolImpl>(std::move(device), std::move(options));
}

}  // namespace gpuforge::memory
