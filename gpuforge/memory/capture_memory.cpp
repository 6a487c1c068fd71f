#include "gpuforge/memory/capture_memory.h"

#include <utility>

#include "gpuforge/base/error.h"

namespace gpuforge::memory {

using device::Address;

Address CaptureMemory::allocate(std::size_t bytes, device::Stream& stream, unsigned tag, Hold owner) {
  const std::uint64_t capture = stream.capture_number();
  const Place place{capture, &stream, block_size_ != nullptr ? block_size_(bytes) : 0};
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (const std::optional<Address> again = reuse(place)) return *again;
    first = captures_.insert(capture).second;
  }
  if (first) {
    const Hold kept(nullptr, [this, capture, owner = std::move(owner)](const void*) { graph_gone(capture); });
    GPUFORGE_CHECK(stream.keep_in_capture(kept), "{}: the capture ended while memory was allocated in it",
                   stream.device().facts().name);
  }
  const Address address = take_(bytes, tag);
  const std::lock_guard lock(mutex_);
  blocks_[address] = {bytes, tag, captures_.contains(capture) ? capture : 0, true, nullptr};
  hints_[hint(address)].fetch_add(1, std::memory_order_relaxed);
  return address;
}

std::optional<Address> CaptureMemory::reuse(const Place& place) {
  const auto found = block_size_ != nullptr ? free_.find(place) : free_.end();
  if (found == free_.end() || found->second.empty()) return std::nullopt;
  const Address address = found->second.back();
  found->second.pop_back();
  blocks_.at(address).in_use = true;
  return address;
}

bool CaptureMemory::has(Address address) const {
  if (!perhaps(address)) return false;
  const std::lock_guard lock(mutex_);
  return blocks_.contains(address);
}

CaptureMemory::Use CaptureMemory::use() const {
  const std::lock_guard lock(mutex_);
  Use result;
  for (const auto& [address, block] : blocks_) {
    if (block.capture == 0) continue;
    result.bytes += block.bytes;
    ++result.blocks;
  }
  return result;
}

void CaptureMemory::forget(std::map<Address, Block>::iterator block) noexcept {
  hints_[hint(block->first)].fetch_sub(1, std::memory_order_relaxed);
  blocks_.erase(block);
}

bool CaptureMemory::free_own(Address address, device::Stream& stream) noexcept {
  try {
    const std::uint64_t capture = stream.capture_number();
    std::unique_lock lock(mutex_);
    const auto found = blocks_.find(address);
    if (found == blocks_.end()) return false;
    found->second.in_use = false;
    const Block block = found->second;
    if (block.capture != 0 && block.capture != capture) {
      found->second.freed_on = stream.shared_from_this();
    } else if (block.capture == 0) {
      // The graph is gone: an ordinary block.
      forget(found);
      lock.unlock();
      give_(address, block.bytes, block.tag, &stream);
    } else if (block_size_ != nullptr) {
      free_[{capture, &stream, block_size_(block.bytes)}].push_back(address);
    }
  } catch (...) {  // not noted as free: it goes with the graph
  }
  return true;
}

// What users still have becomes theirs alone.
void CaptureMemory::graph_gone(std::uint64_t capture) noexcept {
  std::vector<std::pair<Address, Block>> given;
  {
    const std::lock_guard lock(mutex_);
    captures_.erase(capture);
    free_.erase(free_.lower_bound({capture, nullptr, 0}), free_.lower_bound({capture + 1, nullptr, 0}));
    for (auto at = blocks_.begin(); at != blocks_.end();) {
      const auto block = at++;
      if (block->second.capture != capture) continue;
      block->second.capture = 0;
      if (block->second.in_use) continue;
      given.emplace_back(*block);
      forget(block);
    }
  }
  for (const auto& [address, block] : given) give_(address, block.bytes, block.tag, block.freed_on.get());
}

}  // namespace gpuforge::memory
