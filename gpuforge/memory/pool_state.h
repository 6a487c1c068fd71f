// The parts of a pool. Not installed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpuforge/memory/capture_memory.h"
#include "gpuforge/memory/pool.h"
#include "gpuforge/memory/range_map.h"
#include "gpuforge/memory/size_class.h"

namespace gpuforge::memory {

using device::Address;

inline constexpr std::size_t kTags = 64;
inline constexpr std::size_t kShards = 8;
inline constexpr std::size_t kStreamBuckets = 64;
inline constexpr std::size_t kCacheLine = 64;

// For the few instructions of a cached allocation, where a mutex is most of the time.
class SpinLock {
 public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire)) {
      while (taken_.load(std::memory_order_relaxed)) std::this_thread::yield();
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_ = false;
};

// Thrown with the lock held, to wait without it and try again.
struct WaitFirst {
  std::vector<std::shared_ptr<device::Event>> events;
};

struct LargeBlock {
  std::size_t units = 0;
  Address address = 0;
};

// Sums over all shards count; a block may be freed in another than it was taken from.
struct TagCount {
  std::int64_t bytes = 0;
  std::int64_t blocks = 0;
};

// The free blocks of a stream, for some of the threads.
struct alignas(kCacheLine) Shard {
  SpinLock lock;
  std::array<std::vector<Address>, kSizeClasses> small;
  std::vector<LargeBlock> large;
  std::array<TagCount, kTags> tags;
  std::int64_t block_bytes = 0;
  std::size_t allocations = 0;
  std::size_t reuses = 0;
};

struct Arena;

// A range of addresses with its pages. Without virtual memory: an allocation of the device.
struct Region {
  Region(std::size_t units, std::size_t page_units) : map(units, page_units) {}
  Arena* arena = nullptr;
  Address begin = 0;
  RangeMap map;
  std::unique_ptr<device::AddressRange> range;  // nothing: from the device
  // By number; nothing where there is no memory. A block of several pages stands at each of them.
  std::vector<std::shared_ptr<device::PhysicalBlock>> pages;
};
using Blocks = std::vector<std::shared_ptr<device::PhysicalBlock>>;

// The ranges of one stream, in whose order free pieces are.
struct Arena {
  std::vector<std::unique_ptr<Region>> regions;
};

struct StreamEntry {
  std::atomic<device::Stream*> key = nullptr;
  StreamEntry* next = nullptr;  // in the bucket; entries are reused, never removed
  std::shared_ptr<device::Stream> stream;
  Arena arena;
  std::array<Shard, kShards> shards;
};

struct Slab {
  unsigned size_class = 0;
  std::size_t blocks = 0;
};

// Freed, and free for everyone when the event has passed; for its own stream at once.
struct Pending {
  std::shared_ptr<device::Event> event;
  const StreamEntry* by = nullptr;
  std::size_t units = 0;  // 0: a small block
  unsigned size_class = 0;
  Address address = 0;
};

struct EvictableUser {
  std::shared_ptr<device::Stream> stream;
  std::unique_ptr<device::Event> mark;  // recorded when somebody wanted to know whether it has passed
};

// A block in pages of its own.
struct Evictable {
  std::size_t bytes = 0;
  std::size_t units = 0;
  Region* region = nullptr;
  bool resident = true;
  bool freed = false;
  std::uint64_t last_use = 0;
  std::size_t holds = 0;
  std::size_t pins = 0;
  std::vector<EvictableUser> users;
  std::shared_ptr<device::Event> ready;  // the copy that brought it back
  PinnedBuffer host;                     // its bytes, when `resident` is false or a copy is under way
  std::shared_ptr<device::Event> copied_out;
};

// What outlives the pool while streams still work with its memory.
struct PoolMemory {
  ~PoolMemory();
  std::shared_ptr<device::Device> device;
  std::deque<StreamEntry> entries;  // they do not move
  Arena movable;                    // evictable blocks; its free pieces are idle
  std::vector<std::shared_ptr<device::PhysicalBlock>> spare;
  std::vector<PinnedBuffer> hosts;
};

class PoolImpl final : public Pool, public std::enable_shared_from_this<PoolImpl> {
 public:
  PoolImpl(std::shared_ptr<device::Device> device, PoolOptions options);
  ~PoolImpl() override;

  device::Device& device() const override { return *device_; }
  Address allocate(std::size_t bytes, device::Stream& stream) override {
    return allocate_for(bytes, stream, 0);
  }
  void free(Address address, std::size_t bytes, device::Stream& stream) noexcept override {
    free_for(address, bytes, stream, 0);
  }
  Hold pin(Address address, std::size_t bytes) override;
  std::shared_ptr<Allocator> tagged(const std::string& tag, Use use) override;
  PoolStatistics statistics() const override;
  std::size_t trim() override;
  std::shared_ptr<Allocator> reserve(std::size_t bytes, ReservationKind kind,
                                     const std::string& tag) override;
  bool can_reserve(std::size_t bytes) const override;
  void prefetch(Address address, device::Stream& stream) override;
  bool evict(Address address) override;
  bool resident(Address address) const override;

  Address allocate_for(std::size_t bytes, device::Stream& stream, unsigned tag);
  void free_for(Address address, std::size_t bytes, device::Stream& stream, unsigned tag) noexcept;
  Address allocate_evictable(std::size_t bytes, device::Stream& stream, unsigned tag);
  void free_evictable(Address address, std::size_t bytes, device::Stream& stream, unsigned tag) noexcept;
  Hold use_evictable(Address address, device::Stream& stream);
  void end_reservation(std::size_t bytes, ReservationKind kind) noexcept;

 private:
  // pool.cpp: streams and their caches.
  StreamEntry& entry(device::Stream& stream);
  StreamEntry& add_entry(device::Stream& stream);
  template <typename Take>
  void with_lock(const Take& take);
  Address allocate_slowly(StreamEntry& entry, Shard& shard, std::size_t bytes, unsigned tag);
  std::optional<Address> from_other_shards(StreamEntry& entry, std::size_t units, unsigned size_class);
  std::optional<Address> take_locked(StreamEntry& entry, Shard& shard, std::size_t bytes);
  bool in_capture(const device::Stream& stream) const;
  Address allocate_idle(std::size_t bytes, unsigned tag);

  // pool_pages.cpp: places and pages. With the lock held.
  enum class Effort { gentle, every };  // gentle: only what costs nobody anything
  std::optional<Address> take_small(StreamEntry& entry, Shard& shard, unsigned size_class, Effort effort);
  std::optional<Address> take_units(Arena& arena, std::size_t units, StreamEntry* by, Effort effort);
  Region* add_region(Arena& arena, std::size_t units, StreamEntry* by, Effort effort);
  bool get_pages(std::size_t count, std::size_t largest, Blocks& blocks, Effort effort);
  bool collect_pages(std::size_t count, std::size_t largest, Blocks& large, Effort effort);
  void map(Region& region, std::size_t first_page,
           std::span<const std::shared_ptr<device::PhysicalBlock>> blocks);
  std::size_t page_count(const device::PhysicalBlock& block) const { return block.bytes() / page_bytes_; }
  std::size_t largest_block_pages() const;
  void put_aside(Blocks blocks);
  bool grow(std::size_t pages);
  bool grow_large(std::size_t pages, Blocks& large);
  std::size_t harvest_region(Region& region, std::size_t pages);
  bool make_room(std::size_t pages);
  std::size_t harvest(std::size_t pages);
  void unmap(Region& region, RangeMap::Pages pages);
  Region& region_of(Address address);
  std::size_t limit() const;

  // pool_streams.cpp: what other streams have free. With the lock held.
  bool idle(const StreamEntry& entry) const;
  bool has_cached(StreamEntry& entry) const;
  std::shared_ptr<device::Event> record_on(const StreamEntry& entry);
  void give_units(Address address, std::size_t units);
  void flush_large(StreamEntry& entry);
  void drain(StreamEntry& entry);
  void settle();
  void offer(const StreamEntry& taker, unsigned size_class);
  void join_slabs();
  void retire_streams();
  void drain_idle();
  std::optional<Address> wait_for_another(StreamEntry& entry, std::size_t units, unsigned size_class);
  // Streams and blocks with work that somebody may have to wait for.
  struct Busy {
    std::vector<std::shared_ptr<device::Stream>> streams;
    std::vector<std::shared_ptr<device::Event>> events;
  };
  Busy who_is_busy() const;
  void wait_for(Busy busy);  // throws WaitFirst unless there is nobody

  // pool_evict.cpp. With the lock held.
  std::size_t take_from_evictables(std::size_t pages);
  bool passed(Evictable& block);
  bool may_go(Address address, Evictable& block);
  std::vector<Address> oldest_first();
  bool copy_out(Address address, Evictable& block);
  std::size_t let_go(Address address, Evictable& block);
  void bring_back(Address address, Evictable& block, device::Stream& stream);
  void make_usable(Address address, device::Stream& stream);
  void relieve_pressure();
  void settle_evictables();
  device::Stream& copy_stream();
  bool is_evictable(Address address) const;

  // pool_report.cpp.
  [[noreturn]] void fail_out_of_memory(std::size_t bytes) const;
  PoolStatistics statistics_locked() const;
  std::pair<unsigned, Hold> take_tag(const std::string& tag);
  std::int64_t tagged_blocks(std::size_t number) const;

  const std::shared_ptr<device::Device> device_;
  const PoolOptions options_;
  device::VirtualMemory* const virtual_memory_;
  const std::size_t page_bytes_;
  const std::size_t page_units_;
  std::array<std::atomic<StreamEntry*>, kStreamBuckets> buckets_ = {};

  CaptureMemory captured_;
  mutable std::mutex mutex_;  // of all that follows; taken before a shard's lock
  std::shared_ptr<PoolMemory> memory_;
  std::shared_ptr<PinnedPool> host_;
  std::map<Address, Region*> regions_;
  std::map<Address, Slab> slabs_;
  std::array<std::vector<Address>, kSizeClasses> settled_;  // idle small blocks, for everyone
  std::deque<Pending> pending_;
  std::map<Address, Evictable> evictables_;
  SpinLock freed_lock_;  // of the next line alone
  std::vector<std::pair<Address, std::shared_ptr<device::Stream>>> freed_evictables_;
  std::map<Address, std::pair<std::size_t, std::size_t>> pins_;  // bytes, how often
  std::vector<std::pair<PinnedBuffer, std::shared_ptr<device::Event>>> leaving_hosts_;
  std::shared_ptr<device::Stream> copy_stream_;
  std::shared_ptr<device::Stream> quiet_stream_;  // runs nothing; its order is that of memory for captures
  std::vector<std::string> tag_names_ = {"untagged"};
  std::vector<std::weak_ptr<const void>> tag_users_ = std::vector<std::weak_ptr<const void>>(1);
  std::size_t reserved_ = 0;
  std::size_t hard_reserved_ = 0;
  std::size_t soft_reserved_ = 0;
  std::uint64_t clock_ = 0;
  bool may_wait_ = true;    // the call under way has not waited often yet
  PoolStatistics counted_;  // what only changes with the lock held
};

// A number for each thread, so that those that run at once use different shards.
unsigned thread_number();

}  // namespace gpuforge::memory
