// Evictable blocks: out to the host when memory is short, and back to the same address. All but the three
// public calls with the pool's lock held.
#include <algorithm>
#include <span>
#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/memory/pool_state.h"

namespace gpuforge::memory {

bool PoolImpl::is_evictable(Address address) const {
  const std::lock_guard lock(mutex_);
  return evictables_.contains(address);
}

bool PoolImpl::resident(Address address) const {
  const std::lock_guard lock(mutex_);
  const auto found = evictables_.find(address);
  return found == evictables_.end() || found->second.resident;
}

bool PoolImpl::evict(Address address) {
  const std::lock_guard lock(mutex_);
  const auto found = evictables_.find(address);
  if (found == evictables_.end() || !may_go(address, found->second)) return false;
  if (!copy_out(address, found->second)) return false;
  let_go(address, found->second);
  return true;
}

device::Stream& PoolImpl::copy_stream() {
  if (copy_stream_ == nullptr) copy_stream_ = device_->make_stream();
  return *copy_stream_;
}

// Whether all work queued on it so far is done. The first question about a stream that works leaves an event
// there, so that later work of the stream does not matter.
bool PoolImpl::passed(Evictable& block) {
  std::erase_if(block.users, [this](EvictableUser& user) {
    if (user.mark != nullptr) return user.mark->done();
    if (user.stream->capturing()) return false;
    if (user.stream->done()) return true;
    user.mark = device_->make_event(false);
    user.stream->record(*user.mark);
    return false;
  });
  return block.users.empty();
}

bool PoolImpl::may_go(Address address, Evictable& block) {
  return block.resident && !block.freed && block.holds == 0 && !pins_.contains(address) &&
         (block.ready == nullptr || block.ready->done()) && passed(block);
}

// False when the host has no memory for it.
bool PoolImpl::copy_out(Address address, Evictable& block) {
  if (block.copied_out != nullptr) return true;
  try {
    block.host = PinnedBuffer(host_, block.bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    return false;
  }
  copy_stream().copy_to_host(block.host.data(), address, block.bytes);
  block.copied_out = device_->make_event(false);
  copy_stream().record(*block.copied_out);
  return true;
}

std::size_t PoolImpl::let_go(Address address, Evictable& block) {
  block.copied_out->synchronize();
  block.copied_out = nullptr;
  block.ready = nullptr;
  block.resident = false;
  const std::size_t pages = block.units / page_units_;
  unmap(*block.region, {(address - block.region->begin) / page_bytes_, pages});
  counted_.evicted_bytes += block.bytes;
  ++counted_.evictions;
  return pages;
}

std::vector<Address> PoolImpl::oldest_first() {
  std::vector<std::pair<std::uint64_t, Address>> order;
  for (const auto& [address, block] : evictables_) {
    if (block.resident && !block.freed) order.emplace_back(block.last_use, address);
  }
  std::sort(order.begin(), order.end());
  std::vector<Address> addresses;
  for (const auto& [use, address] : order) addresses.push_back(address);
  return addresses;
}

// All copies are under way before the first is waited for.
std::size_t PoolImpl::take_from_evictables(std::size_t pages) {
  std::vector<Address> leaving;
  std::size_t chosen = 0;
  for (const Address address : oldest_first()) {
    if (chosen >= pages) break;
    Evictable& block = evictables_.at(address);
    if (!may_go(address, block) || !copy_out(address, block)) continue;
    leaving.push_back(address);
    chosen += block.units / page_units_;
  }
  std::size_t got = 0;
  for (const Address address : leaving) got += let_go(address, evictables_.at(address));
  return got;
}

void PoolImpl::relieve_pressure() {
  if (options_.quota_bytes == 0 || evictables_.empty()) return;
  const auto share = [this](double of) {
    return static_cast<std::size_t>(of * static_cast<double>(options_.quota_bytes));
  };
  std::size_t used = reserved_ - memory_->spare.size() * page_bytes_;
  if (used > share(options_.hard_share)) {
    used -= std::min(
        used, page_bytes_ * take_from_evictables((used - share(options_.hard_share)) / page_bytes_ + 1));
  }
  if (used <= share(options_.soft_share)) return;
  // Ahead of need: whoever uses such a block before it goes loses nothing but the copy.
  for (const Address address : oldest_first()) {
    Evictable& block = evictables_.at(address);
    if (block.copied_out == nullptr && (!may_go(address, block) || !copy_out(address, block))) continue;
    used -= std::min(used, block.units * kUnitBytes);
    if (used <= share(options_.soft_share)) return;
  }
}

void PoolImpl::bring_back(Address address, Evictable& block, device::Stream& stream) {
  Blocks pages;
  if (!get_pages(block.units / page_units_, 1, pages, Effort::every)) fail_out_of_memory(block.bytes);
  map(*block.region, (address - block.region->begin) / page_bytes_, pages);
  block.resident = true;
  counted_.evicted_bytes -= block.bytes;
  ++counted_.rehydrations;
  stream.copy_to_device(address, block.host.data(), block.bytes);
  block.ready = device_->make_event(false);
  stream.record(*block.ready);
  leaving_hosts_.emplace_back(std::move(block.host), block.ready);
  block.host = {};
}

void PoolImpl::make_usable(Address address, device::Stream& stream) {
  const auto found = evictables_.find(address);
  GPUFORGE_CHECK(found != evictables_.end(), "{}: pool: use of address {}, where no evictable block begins",
                 counted_.device, address);
  Evictable& block = found->second;
  settle_evictables();
  block.last_use = ++clock_;
  // A capture can neither wait for what is outside of it nor copy the bytes anew at every replay: for it the
  // block is made ready now.
  const bool capturing = stream.capturing();
  if (block.copied_out != nullptr && block.resident) {
    if (capturing) {
      block.copied_out->synchronize();
    } else {
      stream.wait(*block.copied_out);
    }
    leaving_hosts_.emplace_back(std::move(block.host), std::move(block.copied_out));
    block.host = {};
    block.copied_out = nullptr;
  }
  if (!block.resident) bring_back(address, block, capturing ? copy_stream() : stream);
  if (block.ready != nullptr) {
    if (capturing) {
      block.ready->synchronize();
    } else if (!block.ready->done()) {
      stream.wait(*block.ready);
    }
  }
  const auto user = std::find_if(block.users.begin(), block.users.end(),
                                 [&](const EvictableUser& each) { return each.stream.get() == &stream; });
  if (user != block.users.end()) {
    user->mark = nullptr;
  } else {
    block.users.push_back({stream.shared_from_this(), nullptr});
  }
  ++block.holds;
}

void PoolImpl::settle_evictables() {
  std::erase_if(leaving_hosts_, [](const auto& host) { return host.second->done(); });
  std::vector<std::pair<Address, std::shared_ptr<device::Stream>>> freed;
  {
    const std::lock_guard lock(freed_lock_);
    freed.swap(freed_evictables_);
  }
  for (auto& [address, stream] : freed) {
    const auto found = evictables_.find(address);
    if (found == evictables_.end()) continue;
    found->second.freed = true;
    found->second.users.push_back({std::move(stream), nullptr});
  }
  for (auto at = evictables_.begin(); at != evictables_.end();) {
    Evictable& block = at->second;
    if (!block.freed || !passed(block) || (block.copied_out != nullptr && !block.copied_out->done()) ||
        (block.ready != nullptr && !block.ready->done())) {
      ++at;
      continue;
    }
    if (!block.resident) counted_.evicted_bytes -= block.bytes;
    block.region->map.give((at->first - block.region->begin) / kUnitBytes, block.units, block.resident);
    at = evictables_.erase(at);
  }
}

}  // namespace gpuforge::memory
