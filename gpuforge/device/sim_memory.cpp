#include "gpuforge/device/sim_memory.h"

#include <cstring>
#include <utility>

#include "gpuforge/base/format.h"

namespace gpuforge::device {
namespace {

constexpr std::size_t kRetiredBytes = std::size_t{64} << 20;

void* block_of(Address address) {
  return reinterpret_cast<void*>(address - kRedZoneBytes);
}

}  // namespace

Address SimMemory::allocate_on_device(std::size_t bytes) {
  if (bytes == 0) return 0;
  auto* const block = static_cast<std::byte*>(allocate(bytes, "an allocation", 2 * kRedZoneBytes));
  try {
    std::memset(block, kFreshByte, bytes + 2 * kRedZoneBytes);
    const auto address = reinterpret_cast<Address>(block + kRedZoneBytes);
    const std::lock_guard lock(mutex_);
    sizes_.emplace(address, bytes);
    try {
      space_->add(address, bytes, format_text("{} bytes allocated on {}", bytes, device_name()), false);
    } catch (...) {
      sizes_.erase(address);
      throw;
    }
    return address;
  } catch (...) {
    free(block);
    throw;
  }
}

void SimMemory::free_on_device(Address address) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = sizes_.find(address);
  if (found == sizes_.end()) return;
  space_->remove(address);
  try {
    retired_.push_back({block_of(address), found->second});
    retired_bytes_ += found->second;
  } catch (...) {  // no memory to note it down: it goes with the device
  }
  sizes_.erase(found);
  release_old_blocks();
}

void SimMemory::release_old_blocks() noexcept {
  if (launching_) return;
  while (retired_bytes_ > kRetiredBytes) {
    free(retired_.front().block);
    retired_bytes_ -= retired_.front().bytes;
    retired_.pop_front();
  }
}

void SimMemory::written(Address address, std::size_t bytes) noexcept {
  try {
    const std::lock_guard lock(launch_mutex_);
    space_->mark_initialized(address, bytes);
  } catch (...) {  // the bytes then count as never written, and a kernel that reads them is told so
  }
}

// Fresh memory looks as it does in allocate_on_device. What a block that moves held counts as written: which
// of its bytes were is not known any more.
void SimMemory::mapped(Address address, std::size_t bytes, bool used) {
  if (!used) std::memset(reinterpret_cast<void*>(address), kFreshByte, bytes);
  space_->add(address, bytes, format_text("{} bytes mapped on {}", bytes, device_name()), used);
}

// After a kernel that runs, whose view of memory has the range: a wrong access is found and not a crash.
void SimMemory::unmapped(Address address) noexcept {
  const std::lock_guard lock(launch_mutex_);
  space_->remove(address);
}

void SimMemory::lend(Address address, std::size_t bytes, std::string label) {
  space_->add(address, bytes, std::move(label), true);
}

void SimMemory::take_back(Address address) noexcept {
  const std::lock_guard lock(launch_mutex_);
  space_->remove(address);
}

SimMemory::Launch::Launch(SimMemory& memory) : memory_(memory), lock_(memory.launch_mutex_) {
  const std::lock_guard lock(memory_.mutex_);
  memory_.launching_ = true;
}

SimMemory::Launch::~Launch() {
  const std::lock_guard lock(memory_.mutex_);
  memory_.launching_ = false;
  memory_.release_old_blocks();
}

}  // namespace gpuforge::device
