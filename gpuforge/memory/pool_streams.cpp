// What the streams of a pool have free, and when another may have it. All with the pool's lock held.
#include <algorithm>
#include <map>
#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/memory/pool_state.h"

namespace gpuforge::memory {

bool PoolImpl::idle(const StreamEntry& entry) const {
  if (entry.stream == nullptr) return true;
  return !entry.stream->capturing() && entry.stream->done();
}

bool PoolImpl::has_cached(StreamEntry& entry) const {
  for (const auto& region : entry.arena.regions) {
    if (region->map.free_memory_units() > 0) return true;
  }
  for (Shard& shard : entry.shards) {
    const std::lock_guard lock(shard.lock);
    if (!shard.large.empty()) return true;
  }
  return false;
}

std::shared_ptr<device::Event> PoolImpl::record_on(const StreamEntry& entry) {
  std::shared_ptr<device::Event> event = device_->make_event(false);
  entry.stream->record(*event);
  return event;
}

void PoolImpl::give_units(Address address, std::size_t units) {
  Region& region = region_of(address);
  region.map.give((address - region.begin) / kUnitBytes, units);
}

// Cached large blocks go back to the ranges of this stream, where they join. One that lies in another
// stream's range may go there only after this stream.
void PoolImpl::flush_large(StreamEntry& entry) {
  std::shared_ptr<device::Event> event;
  const bool capturing = entry.stream != nullptr && entry.stream->capturing();
  for (Shard& shard : entry.shards) {
    std::vector<LargeBlock> blocks;
    {
      const std::lock_guard lock(shard.lock);
      blocks.swap(shard.large);
    }
    for (const LargeBlock& block : blocks) {
      if (region_of(block.address).arena == &entry.arena) {
        give_units(block.address, block.units);
      } else if (capturing) {  // which cannot record an event for others
        const std::lock_guard lock(shard.lock);
        shard.large.push_back(block);
      } else {
        if (event == nullptr) event = record_on(entry);
        pending_.push_back({event, &entry, block.units, 0, block.address});
      }
    }
  }
}

// Of a stream that is idle: small blocks are for everyone now.
void PoolImpl::drain(StreamEntry& entry) {
  for (Shard& shard : entry.shards) {
    const std::lock_guard lock(shard.lock);
    for (unsigned index = 0; index < kSizeClasses; ++index) {
      std::vector<Address>& list = shard.small[index];
      settled_[index].insert(settled_[index].end(), list.begin(), list.end());
      list.clear();
    }
    for (const LargeBlock& block : shard.large) give_units(block.address, block.units);
    shard.large.clear();
  }
}

void PoolImpl::settle() {
  std::erase_if(pending_, [this](const Pending& block) {
    if (!block.event->done()) return false;
    if (block.units > 0) {
      give_units(block.address, block.units);
    } else {
      settled_[block.size_class].push_back(block.address);
    }
    return true;
  });
  settle_evictables();
}

// Other streams' blocks of a class: all of an idle stream's; of one that works, half, behind an event.
void PoolImpl::offer(const StreamEntry& taker, unsigned size_class) {
  if (!settled_[size_class].empty()) return;
  for (StreamEntry& other : memory_->entries) {
    if (&other == &taker || other.stream == nullptr) continue;
    std::size_t cached = 0;
    for (Shard& shard : other.shards) {
      const std::lock_guard lock(shard.lock);
      cached += shard.small[size_class].size();
    }
    if (cached == 0 || other.stream->capturing()) continue;
    // What is free now was freed before the event.
    std::vector<Address> offered;
    for (Shard& shard : other.shards) {
      const std::lock_guard lock(shard.lock);
      std::vector<Address>& list = shard.small[size_class];
      const std::size_t kept = list.size() / 2;
      offered.insert(offered.end(), list.begin() + static_cast<std::ptrdiff_t>(kept), list.end());
      list.resize(kept);
    }
    const std::shared_ptr<device::Event> event = record_on(other);
    for (const Address address : offered) pending_.push_back({event, &other, 0, size_class, address});
  }
  settle();
}

// Slabs of which every block is free for everyone become units again.
void PoolImpl::join_slabs() {
  std::map<Address, std::size_t> free_blocks;
  const auto slab_of = [this](Address address) { return std::prev(slabs_.upper_bound(address)); };
  for (const auto& list : settled_) {
    for (const Address address : list) ++free_blocks[slab_of(address)->first];
  }
  std::erase_if(free_blocks, [this](const auto& item) { return item.second < slabs_.at(item.first).blocks; });
  if (free_blocks.empty()) return;
  for (auto& list : settled_) {
    std::erase_if(list, [&](Address address) { return free_blocks.contains(slab_of(address)->first); });
  }
  for (const auto& [slab, count] : free_blocks) {
    give_units(slab, slab_units(slabs_.at(slab).size_class));
    slabs_.erase(slab);
  }
}

void PoolImpl::drain_idle() {
  settle();
  for (StreamEntry& entry : memory_->entries) {
    if (idle(entry)) drain(entry);
  }
  join_slabs();
}

// Streams that nobody else has any more, when they are idle.
void PoolImpl::retire_streams() {
  for (StreamEntry& entry : memory_->entries) {
    if (entry.stream == nullptr || entry.stream.use_count() > 1 || !idle(entry)) continue;
    drain(entry);
    // Whoever has the entry next is not the stream that freed these.
    for (Pending& block : pending_) {
      if (block.by == &entry) block.by = nullptr;
    }
    entry.key.store(nullptr, std::memory_order_release);
    entry.stream = nullptr;
  }
}

// There is no room: a block of just this size that another stream freed is taken, and this stream waits until
// that one has reached the free.
std::optional<Address> PoolImpl::wait_for_another(StreamEntry& entry, std::size_t units,
                                                  unsigned size_class) {
  for (auto at = pending_.begin(); at != pending_.end(); ++at) {
    if (at->units != units || (units == 0 && at->size_class != size_class)) continue;
    const Pending found = *at;
    entry.stream->wait(*found.event);
    pending_.erase(at);
    ++counted_.stream_waits;
    return found.address;
  }
  for (StreamEntry& other : memory_->entries) {
    if (&other == &entry || other.stream == nullptr || other.stream->capturing()) continue;
    if (const std::optional<Address> found = from_other_shards(other, units, size_class)) {
      entry.stream->wait(*record_on(other));
      ++counted_.stream_waits;
      return found;
    }
  }
  return std::nullopt;
}

// Events after all that streams with free memory still have to do.
PoolImpl::Busy PoolImpl::who_is_busy() const {
  Busy busy;
  for (const StreamEntry& entry : memory_->entries) {
    if (entry.stream == nullptr || entry.stream->capturing() || entry.stream->done()) continue;
    busy.streams.push_back(entry.stream);
  }
  for (const Pending& block : pending_) {
    if (!block.event->done()) busy.events.push_back(block.event);
  }
  return busy;
}

void PoolImpl::wait_for(Busy busy) {
  if (busy.streams.empty() && busy.events.empty()) return;
  WaitFirst wait{std::move(busy.events)};
  for (const std::shared_ptr<device::Stream>& stream : busy.streams) {
    wait.events.push_back(device_->make_event(false));
    stream->record(*wait.events.back());
  }
  throw wait;
}

}  // namespace gpuforge::memory
