// Places and pages: how a block gets memory that no cache has. All with the pool's lock held.
#include <algorithm>
#include <span>
#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/memory/pool_state.h"

namespace gpuforge::memory {
namespace {

constexpr std::size_t kRegionBytes = std::size_t{1} << 30;        // addresses cost nothing
constexpr std::size_t kFixedRegionBytes = std::size_t{32} << 20;  // memory does

// Below, it is quicker to try than to ask how much the device has.
constexpr std::size_t kAskDeviceBytes = std::size_t{256} << 20;

std::size_t round_up(std::size_t value, std::size_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

std::size_t PoolImpl::limit() const {
  return options_.quota_bytes == 0 ? SIZE_MAX : options_.quota_bytes - hard_reserved_;
}

Region& PoolImpl::region_of(Address address) {
  const auto after = regions_.upper_bound(address);
  GPUFORGE_ASSERT(after != regions_.begin(), "memory: {} is no address of the pool", address);
  return *std::prev(after)->second;
}

std::optional<Address> PoolImpl::take_small(StreamEntry& entry, Shard& shard, unsigned size_class,
                                            Effort effort) {
  const std::size_t units = slab_units(size_class);
  const std::optional<Address> slab = take_units(entry.arena, units, &entry, effort);
  if (!slab) return std::nullopt;
  const std::size_t bytes = class_bytes(size_class);
  const std::size_t blocks = units * kUnitBytes / bytes;
  slabs_[*slab] = {size_class, blocks};
  const std::lock_guard lock(shard.lock);
  std::vector<Address>& list = shard.small[size_class];
  list.reserve(list.size() + blocks);
  for (std::size_t i = blocks; i-- > 1;) list.push_back(*slab + i * bytes);
  return *slab;
}

std::optional<Address> PoolImpl::take_units(Arena& arena, std::size_t units, StreamEntry* by, Effort effort) {
  Region* best = nullptr;
  std::optional<RangeMap::Place> place;
  for (const auto& region : arena.regions) {
    std::optional<RangeMap::Place> found = region->map.find(units);
    if (found && (!place || found->missing_count < place->missing_count)) {
      place = std::move(found);
      best = region.get();
    }
  }
  if (!place) {
    best = add_region(arena, units, by, effort);
    if (best == nullptr) return std::nullopt;
    place = best->map.find(units);
  }
  if (place->missing_count > 0) {
    std::vector<std::shared_ptr<device::PhysicalBlock>> pages;
    if (!get_pages(place->missing_count, pages, effort)) return std::nullopt;
    // Getting pages may have taken some from this very region.
    place = best->map.find(units);
    std::size_t used = 0;
    for (const RangeMap::Pages& missing : place->missing) {
      if (pages.size() - used < missing.count) break;
      best->range->map(missing.first * page_bytes_, std::span(pages).subspan(used, missing.count));
      for (std::size_t i = 0; i < missing.count; ++i) best->pages[missing.first + i] = pages[used + i];
      best->map.add_memory(missing);
      used += missing.count;
    }
    for (; used < pages.size(); ++used) memory_->spare.push_back(std::move(pages[used]));
    if (place = best->map.find(units); !place || place->missing_count > 0) {
      return take_units(arena, units, by, effort);
    }
  }
  best->map.take(place->begin, units);
  return best->begin + place->begin * kUnitBytes;
}

// Without virtual memory a region is memory at once, and nothing is returned when there is none.
Region* PoolImpl::add_region(Arena& arena, std::size_t units, StreamEntry* by, Effort effort) {
  const std::size_t needed = round_up(units * kUnitBytes, page_bytes_);
  std::size_t bytes =
      std::max(needed, round_up(virtual_memory_ ? kRegionBytes : kFixedRegionBytes, page_bytes_));
  auto region = std::make_unique<Region>(bytes / kUnitBytes, page_units_);
  if (virtual_memory_ != nullptr) {
    region->range = virtual_memory_->reserve(bytes);
    region->begin = region->range->address();
    region->pages.resize(bytes / page_bytes_);
  } else {
    if (limit() - std::min(limit(), reserved_) < bytes) {
      bytes = needed;
      region = std::make_unique<Region>(bytes / kUnitBytes, page_units_);
    }
    if (limit() - std::min(limit(), reserved_) < bytes) {
      if (effort == Effort::gentle || !make_room(bytes / page_bytes_)) return nullptr;
      if (limit() - std::min(limit(), reserved_) < bytes) return nullptr;
    }
    try {
      region->begin = device_->allocate(bytes, *by->stream);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::out_of_memory) throw;
      return nullptr;
    }
    region->map.add_memory({0, bytes / page_bytes_});
    reserved_ += bytes;
    counted_.peak_reserved_bytes = std::max(counted_.peak_reserved_bytes, reserved_);
    counted_.grown_pages += bytes / page_bytes_;
  }
  region->arena = &arena;
  regions_[region->begin] = region.get();
  arena.regions.push_back(std::move(region));
  return arena.regions.back().get();
}

// Exactly `count`, or none. Free pages elsewhere come before new ones: what a driver gives costs as much as
// mapping, and stays.
bool PoolImpl::get_pages(std::size_t count, std::vector<std::shared_ptr<device::PhysicalBlock>>& pages,
                         Effort effort) {
  std::vector<std::shared_ptr<device::PhysicalBlock>>& spare = memory_->spare;
  // What can never be is said at once, without growing or giving up anything for it.
  bool possible = limit() / page_bytes_ >= count;
  if (possible && count > spare.size() && (count - spare.size()) * page_bytes_ > kAskDeviceBytes) {
    possible = (count - spare.size()) * page_bytes_ <= device_->memory_info().free_bytes + reserved_;
  }
  const std::size_t before = reserved_;
  while (possible && spare.size() < count) {
    const std::size_t missing = count - spare.size();
    if (harvest(missing) > 0 || grow(missing)) continue;
    if (effort == Effort::every && make_room(missing)) continue;
    break;
  }
  if (spare.size() < count) {
    // Others of this device can have what was not enough.
    for (; reserved_ > before && !spare.empty(); spare.pop_back()) reserved_ -= page_bytes_;
    return false;
  }
  pages.assign(std::make_move_iterator(spare.end() - static_cast<std::ptrdiff_t>(count)),
               std::make_move_iterator(spare.end()));
  spare.resize(spare.size() - count);
  return true;
}

bool PoolImpl::grow(std::size_t pages) {
  const std::size_t room = (limit() - std::min(limit(), reserved_)) / page_bytes_;
  std::size_t made = 0;
  try {
    for (; made < std::min(pages, room); ++made) {
      memory_->spare.push_back(virtual_memory_->make_block(page_bytes_));
      reserved_ += page_bytes_;
      ++counted_.grown_pages;
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
  }
  counted_.peak_reserved_bytes = std::max(counted_.peak_reserved_bytes, reserved_);
  return made > 0;
}

void PoolImpl::unmap(Region& region, RangeMap::Pages pages) {
  region.range->unmap(pages.first * page_bytes_, pages.count * page_bytes_);
  for (std::size_t i = 0; i < pages.count; ++i) {
    memory_->spare.push_back(std::move(region.pages[pages.first + i]));
  }
  counted_.moved_pages += pages.count;
}

// Up to `pages` that nothing uses, from wherever they are.
std::size_t PoolImpl::harvest(std::size_t pages) {
  std::size_t got = 0;
  const auto from = [&](Arena& arena) {
    for (const auto& region : arena.regions) {
      if (region->range == nullptr || region->map.free_memory_units() < page_units_) continue;
      for (const RangeMap::Pages& removed : region->map.remove_memory(pages - got)) {
        unmap(*region, removed);
        got += removed.count;
      }
      if (got == pages) return;
    }
  };
  from(memory_->movable);
  for (StreamEntry& entry : memory_->entries) {
    if (got == pages) break;
    if (!has_cached(entry) || !idle(entry)) continue;
    flush_large(entry);
    from(entry.arena);
  }
  return got;
}

// The hard ways. True when there is memory that there was not before.
bool PoolImpl::make_room(std::size_t pages) {
  drain_idle();
  if (virtual_memory_ == nullptr) {
    const std::size_t before = reserved_;
    for (StreamEntry& entry : memory_->entries) {
      std::erase_if(entry.arena.regions, [&](const std::unique_ptr<Region>& region) {
        if (region->range != nullptr || !region->map.empty() || !idle(entry)) return false;
        device_->free(region->begin, *entry.stream);
        reserved_ -= region->map.units() * kUnitBytes;
        regions_.erase(region->begin);
        return true;
      });
    }
    if (reserved_ < before) return true;
  } else {
    if (harvest(pages) > 0 || take_from_evictables(pages) > 0) return true;
  }
  if (may_wait_) {
    WaitFirst wait{busy_streams()};
    if (!wait.events.empty()) throw wait;
  }
  return false;
}

std::size_t PoolImpl::trim() {
  const std::lock_guard lock(mutex_);
  const std::size_t before = reserved_;
  settle();
  retire_streams();
  may_wait_ = false;
  drain_idle();
  if (virtual_memory_ == nullptr) {
    static_cast<void>(make_room(SIZE_MAX));
  } else {
    static_cast<void>(harvest(SIZE_MAX));
    reserved_ -= memory_->spare.size() * page_bytes_;
    memory_->spare.clear();
  }
  return before - reserved_;
}

}  // namespace gpuforge::memory
