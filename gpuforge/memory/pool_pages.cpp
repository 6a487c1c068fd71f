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

constexpr std::size_t kLargestBlockBytes = std::size_t{64} << 20;
constexpr std::size_t kLeastBlocks = 256;  // of the largest size, in all there is

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
    // Blocks of several pages where one run of them is for one request. Evictable ones go page by page.
    const bool in_one = place->missing.size() == 1 && &arena != &memory_->movable;
    Blocks blocks;
    if (!get_pages(place->missing_count, in_one ? largest_block_pages() : 1, blocks, effort))
      return std::nullopt;
    // Getting pages may have taken some from this very region.
    place = best->map.find(units);
    std::size_t used = 0;
    for (const RangeMap::Pages& missing : place->missing) {
      std::size_t pages = 0;
      std::size_t end = used;
      while (end < blocks.size() && pages < missing.count) pages += page_count(*blocks[end++]);
      if (pages != missing.count) break;
      map(*best, missing.first, std::span(blocks).subspan(used, end - used));
      best->map.add_memory(missing);
      used = end;
    }
    put_aside(Blocks(blocks.begin() + static_cast<std::ptrdiff_t>(used), blocks.end()));
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

void PoolImpl::map(Region& region, std::size_t first_page,
                   std::span<const std::shared_ptr<device::PhysicalBlock>> blocks) {
  region.range->map(first_page * page_bytes_, blocks);
  for (const auto& block : blocks) {
    for (std::size_t i = page_count(*block); i > 0; --i) region.pages[first_page++] = block;
  }
}

// A driver takes about as long for a block of many pages as for one. Only whole blocks can serve elsewhere,
// so that they are a small part of all there is.
std::size_t PoolImpl::largest_block_pages() const {
  const std::size_t all = options_.quota_bytes > 0 ? options_.quota_bytes : device_->facts().memory_bytes;
  return std::max<std::size_t>(std::min(kLargestBlockBytes, all / kLeastBlocks) / page_bytes_, 1);
}

// What was not needed after all: pages are kept, larger blocks are given back.
void PoolImpl::put_aside(Blocks blocks) {
  for (auto& block : blocks) {
    if (page_count(*block) == 1) {
      memory_->spare.push_back(std::move(block));
    } else {
      reserved_ -= block->bytes();
    }
  }
}

// Pages until there are `count`, with what is in `large`. Free pages elsewhere come before new ones: what a
// driver gives costs as much as mapping, and stays.
bool PoolImpl::collect_pages(std::size_t count, std::size_t largest, Blocks& large, Effort effort) {
  std::size_t in_large = 0;
  while (memory_->spare.size() + in_large < count) {
    const std::size_t missing = count - memory_->spare.size() - in_large;
    if (harvest(missing) > 0) continue;
    if (const std::size_t pages = std::min(missing, largest); pages > 1 && grow_large(pages, large)) {
      in_large += pages;
      continue;
    }
    if (grow(missing)) continue;
    if (effort == Effort::gentle || !make_room(missing)) return false;
  }
  return true;
}

// Exactly `count` pages, or none; in blocks of at most `largest`, the smallest first.
bool PoolImpl::get_pages(std::size_t count, std::size_t largest, Blocks& blocks, Effort effort) {
  Blocks& spare = memory_->spare;
  // What can never be is said at once, without growing or giving up anything for it.
  bool possible = limit() / page_bytes_ >= count;
  if (possible && count > spare.size() && (count - spare.size()) * page_bytes_ > kAskDeviceBytes) {
    possible = (count - spare.size()) * page_bytes_ <= device_->memory_info().free_bytes + reserved_;
  }
  const std::size_t before = reserved_;
  Blocks large;
  bool enough = false;
  try {
    enough = possible && collect_pages(count, largest, large, effort);
  } catch (...) {
    put_aside(std::move(large));
    throw;
  }
  if (!enough) {
    put_aside(std::move(large));
    // Others of this device can have what was not enough.
    for (; reserved_ > before && !spare.empty(); spare.pop_back()) reserved_ -= page_bytes_;
    return false;
  }
  for (const auto& block : large) count -= page_count(*block);
  blocks.assign(std::make_move_iterator(spare.end() - static_cast<std::ptrdiff_t>(count)),
                std::make_move_iterator(spare.end()));
  spare.resize(spare.size() - count);
  blocks.insert(blocks.end(), std::make_move_iterator(large.begin()), std::make_move_iterator(large.end()));
  return true;
}

bool PoolImpl::grow_large(std::size_t pages, Blocks& large) {
  const std::size_t bytes = pages * page_bytes_;
  if (limit() - std::min(limit(), reserved_) < bytes) return false;
  try {
    large.push_back(virtual_memory_->make_block(bytes));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    return false;
  }
  reserved_ += bytes;
  counted_.grown_pages += pages;
  ++counted_.grown_blocks;
  counted_.peak_reserved_bytes = std::max(counted_.peak_reserved_bytes, reserved_);
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
      ++counted_.grown_blocks;
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
  }
  counted_.peak_reserved_bytes = std::max(counted_.peak_reserved_bytes, reserved_);
  return made > 0;
}

void PoolImpl::unmap(Region& region, RangeMap::Pages pages) {
  region.range->unmap(pages.first * page_bytes_, pages.count * page_bytes_);
  Blocks blocks;
  for (std::size_t i = 0; i < pages.count; ++i) {
    auto block = std::move(region.pages[pages.first + i]);
    if (blocks.empty() || blocks.back() != block) blocks.push_back(std::move(block));
  }
  put_aside(std::move(blocks));
  counted_.moved_pages += pages.count;
}

// Whole blocks, those at the end first.
std::size_t PoolImpl::harvest_region(Region& region, std::size_t pages) {
  std::size_t got = 0;
  const std::vector<RangeMap::Pages> runs = region.map.free_pages();
  for (auto run = runs.rbegin(); run != runs.rend() && got < pages; ++run) {
    std::size_t end = run->first + run->count;
    // A block that goes on behind the run is not free as a whole.
    const auto goes_on = [&](std::size_t page) {
      return page < region.pages.size() && page > 0 && region.pages[page] == region.pages[page - 1];
    };
    while (end > run->first && goes_on(end)) --end;
    while (end > run->first && got < pages) {
      const std::size_t count = page_count(*region.pages[end - 1]);
      if (end - run->first < count) break;
      const RangeMap::Pages block{end - count, count};
      region.map.remove_memory(block);
      unmap(region, block);
      got += count;
      end -= count;
    }
  }
  return got;
}

// About as many pages as asked that nothing uses, from wherever they are.
std::size_t PoolImpl::harvest(std::size_t pages) {
  std::size_t got = 0;
  const auto from = [&](Arena& arena) {
    for (const auto& region : arena.regions) {
      if (region->range == nullptr || region->map.free_memory_units() < page_units_) continue;
      got += harvest_region(*region, pages - got);
      if (got >= pages) return;
    }
  };
  from(memory_->movable);
  for (StreamEntry& entry : memory_->entries) {
    if (got >= pages) break;
    if (!has_cached(entry) || !idle(entry)) continue;
    flush_large(entry);
    from(entry.arena);
  }
  return got;
}

// The hard ways. True when there is memory that there was not before.
bool PoolImpl::make_room(std::size_t pages) {
  // Who is busy is asked first: work that ends between a look at its memory and this would be nobody's.
  Busy busy;
  if (may_wait_) busy = who_is_busy();
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
  wait_for(std::move(busy));
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
