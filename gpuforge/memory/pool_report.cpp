// What a pool says: views by tag, reservations, figures, and why there is no memory.
#include <algorithm>
#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/memory/pool_state.h"

namespace gpuforge::memory {
namespace {

class TaggedAllocator final : public Allocator {
 public:
  TaggedAllocator(std::shared_ptr<PoolImpl> pool, std::pair<unsigned, Hold> tag, Use use, Hold kept)
      : kept_(std::move(kept)),
        pool_(std::move(pool)),
        tag_(tag.first),
        tag_in_use_(std::move(tag.second)),
        evictable_(use == Use::evictable) {}

  device::Device& device() const override { return pool_->device(); }
  Address allocate(std::size_t bytes, device::Stream& stream) override {
    return evictable_ ? pool_->allocate_evictable(bytes, stream, tag_)
                      : pool_->allocate_for(bytes, stream, tag_);
  }
  void free(Address address, std::size_t bytes, device::Stream& stream) noexcept override {
    evictable_ ? pool_->free_evictable(address, bytes, stream, tag_)
               : pool_->free_for(address, bytes, stream, tag_);
  }
  bool evicts() const override { return evictable_; }
  Hold use(Address address, device::Stream& stream) override {
    if (!evictable_ || address == 0) return {};
    return pool_->use_evictable(address, stream);
  }
  Hold pin(Address address, std::size_t bytes) override { return pool_->pin(address, bytes); }

 private:
  const Hold kept_;  // a reservation, which ends after the pool it is for
  const std::shared_ptr<PoolImpl> pool_;
  const unsigned tag_;
  const Hold tag_in_use_;
  const bool evictable_;
};

// "1.50 GiB".
std::string size_text(std::size_t bytes) {
  if (bytes < 10'000) return format_text("{} bytes", bytes);
  const auto value = static_cast<double>(bytes);
  if (bytes < std::size_t{10} << 20) return format_text("{:.1f} KiB", value / 1024);
  if (bytes < std::size_t{10} << 30) return format_text("{:.1f} MiB", value / (1 << 20));
  return format_text("{:.2f} GiB", value / (1 << 30));
}

}  // namespace

std::int64_t PoolImpl::tagged_blocks(std::size_t number) const {
  std::int64_t blocks = 0;
  for (StreamEntry& entry : memory_->entries) {
    for (Shard& shard : entry.shards) {
      const std::lock_guard lock(shard.lock);
      blocks += shard.tags[number].blocks;
    }
  }
  return blocks;
}

// Its number, and what keeps it from being given to another name.
std::pair<unsigned, Hold> PoolImpl::take_tag(const std::string& tag) {
  GPUFORGE_CHECK(!tag.empty(), "{}: pool: a tag needs a name", counted_.device);
  const std::lock_guard lock(mutex_);
  std::size_t number = 0;
  while (number < tag_names_.size() && tag_names_[number] != tag) ++number;
  if (number == tag_names_.size() && number < kTags) {
    tag_names_.push_back(tag);
    tag_users_.emplace_back();
  }
  if (number == kTags) {
    for (number = 1; number < kTags; ++number) {
      if (tag_users_[number].expired() && tagged_blocks(number) == 0) break;
    }
    GPUFORGE_CHECK(number < kTags, "{}: pool: tag {} is one too many: there are {} already", counted_.device,
                   tag, kTags);
    tag_names_[number] = tag;
  }
  Hold users = tag_users_[number].lock();
  if (users == nullptr && number > 0) {
    users = std::make_shared<int>(0);
    tag_users_[number] = users;
  }
  return {static_cast<unsigned>(number), std::move(users)};
}

std::shared_ptr<Allocator> PoolImpl::tagged(const std::string& tag, Use use) {
  if (use == Use::evictable && virtual_memory_ == nullptr) {
    throw Error(ErrorCode::unsupported,
                format_text("{}: pool: evictable blocks need virtual memory, which this device has not",
                            counted_.device));
  }
  return std::make_shared<TaggedAllocator>(shared_from_this(), take_tag(tag), use, nullptr);
}

Hold PoolImpl::pin(Address address, std::size_t bytes) {
  if (address == 0) return {};
  {
    const std::lock_guard lock(mutex_);
    auto& [pinned_bytes, times] = pins_[address];
    pinned_bytes = bytes;
    ++times;
  }
  return Hold(nullptr, [pool = shared_from_this(), address](const void*) {
    const std::lock_guard lock(pool->mutex_);
    const auto found = pool->pins_.find(address);
    if (--found->second.second == 0) pool->pins_.erase(found);
  });
}

std::shared_ptr<Allocator> PoolImpl::reserve(std::size_t bytes, ReservationKind kind,
                                             const std::string& tag) {
  const auto end = [pool = shared_from_this(), bytes, kind](const void*) {
    pool->end_reservation(bytes, kind);
  };
  if (kind == ReservationKind::soft) {
    const auto number = take_tag(tag);
    const std::lock_guard lock(mutex_);
    soft_reserved_ += bytes;
    return std::make_shared<TaggedAllocator>(shared_from_this(), number, Use::resident, Hold(nullptr, end));
  }
  GPUFORGE_CHECK(bytes > 0 && bytes <= SIZE_MAX / 4, "{}: pool: a reservation of {} bytes", counted_.device,
                 bytes);
  PoolOptions options = options_;
  options.quota_bytes = (bytes + page_bytes_ - 1) / page_bytes_ * page_bytes_;
  options.page_bytes = page_bytes_;
  const auto part = std::make_shared<PoolImpl>(device_, std::move(options));
  const std::size_t pages = part->options_.quota_bytes / page_bytes_;
  {
    const std::lock_guard lock(mutex_);
    const std::size_t wanted = pages * page_bytes_;
    settle();
    // Pages that are free here go over as they are; beyond them there must be room.
    if (virtual_memory_ != nullptr) {
      may_wait_ = false;
      if (limit() >= wanted) {
        while (memory_->spare.size() < pages) {
          const std::size_t missing = pages - memory_->spare.size();
          if (harvest(missing) == 0 && !grow(missing) && !make_room(missing)) break;
        }
      }
      if (memory_->spare.size() < pages) fail_out_of_memory(bytes);
      for (std::size_t i = 0; i < pages; ++i) {
        part->memory_->spare.push_back(std::move(memory_->spare.back()));
        memory_->spare.pop_back();
      }
      reserved_ -= wanted;
      part->reserved_ = wanted;
      part->counted_.peak_reserved_bytes = wanted;
    } else if (options_.quota_bytes > 0 && limit() - std::min(limit(), reserved_) < wanted) {
      fail_out_of_memory(bytes);
    }
    hard_reserved_ += wanted;
  }
  const auto end_hard = [pool = shared_from_this(), size = part->options_.quota_bytes](const void*) {
    pool->end_reservation(size, ReservationKind::hard);
  };
  return std::make_shared<TaggedAllocator>(part, part->take_tag(tag), Use::resident, Hold(nullptr, end_hard));
}

void PoolImpl::end_reservation(std::size_t bytes, ReservationKind kind) noexcept {
  const std::lock_guard lock(mutex_);
  (kind == ReservationKind::hard ? hard_reserved_ : soft_reserved_) -= bytes;
}

bool PoolImpl::can_reserve(std::size_t bytes) const {
  const PoolStatistics now = statistics();
  const std::size_t used = now.reserved_bytes - std::min(now.reserved_bytes, now.cached_bytes);
  if (now.quota_bytes == 0) {
    const std::size_t free_bytes = device_->memory_info().free_bytes;
    return bytes <= free_bytes + now.cached_bytes;
  }
  const std::size_t taken = used + now.hard_reserved_bytes;
  return taken <= now.quota_bytes && bytes <= now.quota_bytes - taken;
}

PoolStatistics PoolImpl::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_locked();
}

PoolStatistics PoolImpl::statistics_locked() const {
  PoolStatistics result = counted_;
  std::array<TagCount, kTags> tags;
  std::int64_t blocks_bytes = 0;
  for (StreamEntry& entry : memory_->entries) {
    for (Shard& shard : entry.shards) {
      const std::lock_guard lock(shard.lock);
      for (std::size_t i = 0; i < kTags; ++i) {
        tags[i].bytes += shard.tags[i].bytes;
        tags[i].blocks += shard.tags[i].blocks;
      }
      blocks_bytes += shard.block_bytes;
      result.allocations += shard.allocations;
      result.reuses += shard.reuses;
    }
  }
  for (std::size_t i = 0; i < tag_names_.size(); ++i) {
    if (tags[i].blocks == 0) continue;
    result.tags.push_back(
        {tag_names_[i], static_cast<std::size_t>(tags[i].bytes), static_cast<std::size_t>(tags[i].blocks)});
    result.requested_bytes += static_cast<std::size_t>(tags[i].bytes);
    result.blocks += static_cast<std::size_t>(tags[i].blocks);
  }
  std::sort(result.tags.begin(), result.tags.end(),
            [](const TagUse& a, const TagUse& b) { return a.requested_bytes > b.requested_bytes; });
  result.block_bytes = static_cast<std::size_t>(std::max<std::int64_t>(blocks_bytes, 0));
  result.reserved_bytes = reserved_;
  result.hard_reserved_bytes = hard_reserved_;
  result.soft_reserved_bytes = soft_reserved_;
  const std::size_t in_blocks = result.block_bytes - std::min(result.block_bytes, result.evicted_bytes);
  result.cached_bytes = reserved_ - std::min(reserved_, in_blocks);
  for (const auto& [address, pinned] : pins_) {
    result.pinned_bytes += pinned.first;
    ++result.pinned_blocks;
  }
  const CaptureMemory::Use graphs = captured_.use();
  result.pinned_bytes += graphs.bytes;
  result.pinned_blocks += graphs.blocks;
  return result;
}

void PoolImpl::fail_out_of_memory(std::size_t bytes) const {
  const PoolStatistics now = statistics_locked();
  std::string holders;
  for (std::size_t i = 0; i < now.tags.size(); ++i) {
    if (i == 8) {
      holders += format_text(", and {} more", now.tags.size() - i);
      break;
    }
    holders += format_text("{}{} {} in {} blocks", i == 0 ? "" : ", ", now.tags[i].tag,
                           size_text(now.tags[i].requested_bytes), now.tags[i].blocks);
  }
  std::size_t free_bytes = now.cached_bytes;
  std::string quota = "no quota";
  if (now.quota_bytes > 0) {
    quota = format_text("a quota of {} bytes, of which {} bytes are reserved", now.quota_bytes,
                        now.reserved_bytes + now.hard_reserved_bytes);
    free_bytes += limit() - std::min(limit(), reserved_);
  } else {
    free_bytes += device_->memory_info().free_bytes;
  }
  throw Error(
      ErrorCode::out_of_memory,
      format_text("{}: an allocation of {} bytes wanted, {} bytes are free; the pool has {}. Held: {}{}. "
                  "Free arrays that are not needed, or {}",
                  now.device, bytes, free_bytes, quota, holders.empty() ? "nothing" : holders,
                  now.pinned_blocks == 0 ? "" : format_text(" ({} blocks are pinned)", now.pinned_blocks),
                  now.quota_bytes > 0
                      ? "raise the quota (PoolOptions::quota_bytes); arrays made evictable can go to "
                        "the host meanwhile"
                      : "use a device with more memory; arrays made evictable can go to the host "
                        "meanwhile"),
      to_string(now));
}

std::string to_string(const PoolStatistics& now) {
  std::string text =
      format_text("{}: {} in {} blocks requested, {} reserved (most {}), {} cached, quota {}\n", now.device,
                  size_text(now.requested_bytes), now.blocks, size_text(now.reserved_bytes),
                  size_text(now.peak_reserved_bytes), size_text(now.cached_bytes),
                  now.quota_bytes == 0 ? "none" : size_text(now.quota_bytes));
  text +=
      format_text("{} allocations, {} of them from a stream's cache; {} pages made in {} blocks, {} moved\n",
                  now.allocations, now.reuses, now.grown_pages, now.grown_blocks, now.moved_pages);
  text += format_text("waits: {} of streams, {} of callers; {} evictions, {} brought back, {} outside\n",
                      now.stream_waits, now.host_waits, now.evictions, now.rehydrations,
                      size_text(now.evicted_bytes));
  if (now.pinned_blocks + now.hard_reserved_bytes + now.soft_reserved_bytes > 0) {
    text += format_text("pinned: {} in {} blocks; reserved for others: {} hard, {} soft\n",
                        size_text(now.pinned_bytes), now.pinned_blocks, size_text(now.hard_reserved_bytes),
                        size_text(now.soft_reserved_bytes));
  }
  for (const TagUse& use : now.tags) {
    text += format_text("  {}: {} in {} blocks\n", use.tag, size_text(use.requested_bytes), use.blocks);
  }
  return text;
}

}  // namespace gpuforge::memory
