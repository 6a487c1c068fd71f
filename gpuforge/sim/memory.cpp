#include "gpuforge/sim/memory.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/sim/race_cells.h"
#include "gpuforge/sim/written.h"

namespace gpuforge::sim {

namespace {
constexpr std::size_t kFreedKept = 64;
}

Allocation::Allocation(std::uint64_t begin_address, std::size_t size, std::string name, bool is_initialized)
    : begin(begin_address), bytes(size), label(std::move(name)), initialized_whole(is_initialized) {
  if (!is_initialized) initialized = std::make_unique<std::uint64_t[]>(written_words(size));
}
Allocation::~Allocation() = default;

Memory::Memory() = default;
Memory::~Memory() = default;

std::shared_ptr<Allocation> Memory::add(std::uint64_t begin, std::size_t bytes, std::string label,
                                        bool initialized) {
  auto made = std::make_shared<Allocation>(begin, bytes, std::move(label), initialized);
  const std::lock_guard lock(mutex_);
  const auto next = allocations_.lower_bound(begin);
  GPUFORGE_CHECK(next == allocations_.end() || next->first >= begin + std::max<std::size_t>(bytes, 1),
                 "sim: memory at {} of {} bytes overlaps {}", begin, bytes, next->second->label);
  if (next != allocations_.begin()) {
    const Allocation& before = *std::prev(next)->second;
    GPUFORGE_CHECK(before.end() <= begin, "sim: memory at {} of {} bytes overlaps {}", begin, bytes,
                   before.label);
  }
  allocations_.emplace_hint(next, begin, made);
  // The addresses are in use again: what was freed there can no longer be told from it.
  std::erase_if(freed_,
                [&](const Freed& one) { return one.begin < begin + bytes && begin < one.begin + one.bytes; });
  snapshot_.reset();
  return made;
}

void Memory::remove(std::uint64_t begin) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(begin);
  if (found == allocations_.end()) return;
  try {
    freed_.insert(freed_.begin(), {begin, found->second->bytes, found->second->label});
    if (freed_.size() > kFreedKept) freed_.pop_back();
  } catch (...) {  // only a worse message later
  }
  allocations_.erase(found);
  snapshot_.reset();
}

void Memory::mark_initialized(std::uint64_t begin, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto at = allocations_.upper_bound(begin);
  if (at != allocations_.begin()) --at;
  for (; at != allocations_.end(); ++at) {
    Allocation& one = *at->second;
    if (one.begin >= begin && one.begin - begin >= bytes) break;
    const std::uint64_t from = begin > one.begin ? begin - one.begin : 0;
    const std::uint64_t skipped = one.begin > begin ? one.begin - begin : 0;
    if (one.initialized_whole || from >= one.bytes) continue;
    const std::uint64_t count = std::min<std::uint64_t>(bytes - skipped, one.bytes - from);
    set_written(one.initialized.get(), from, count);
    if (count == one.bytes) one.initialized_whole = true;
  }
}

std::shared_ptr<const Allocations> Memory::snapshot() const {
  const std::lock_guard lock(mutex_);
  if (snapshot_ == nullptr) {
    auto made = std::make_shared<Allocations>();
    made->reserve(allocations_.size());
    for (const auto& [begin, one] : allocations_) made->push_back(one);
    snapshot_ = std::move(made);
  }
  return snapshot_;
}

std::vector<Memory::Freed> Memory::freed() const {
  const std::lock_guard lock(mutex_);
  return freed_;
}

}  // namespace gpuforge::sim
