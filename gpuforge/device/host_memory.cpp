#include "gpuforge/device/host_memory.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "gpuforge/base/error.h"
#include "gpuforge/device/host_machine.h"

namespace gpuforge::device {
namespace {

// Reading the machine's free memory costs tens of microseconds, so small allocations share one reading.
constexpr std::size_t kCheckEveryBytes = std::size_t{64} << 20;

}  // namespace

void HostMemory::fail_out_of_memory(std::string_view what, std::size_t bytes, std::size_t free_bytes) const {
  throw Error(ErrorCode::out_of_memory, format_text("{}: {} of {} bytes wanted, {} bytes are free",
                                                    device_name_, what, bytes, free_bytes));
}

HostMemory::~HostMemory() {
  for (const auto& [address, bytes] : blocks_) std::free(address);
}

// Linux promises more memory than there is and kills whoever uses it, so the promise is checked here. Pages
// not touched yet still count as available: what is already allocated is set against the total.
void HostMemory::check_room(std::size_t bytes, std::string_view what) {
  if (bytes >= kCheckEveryBytes - std::min(unchecked_bytes_, kCheckEveryBytes)) {
    const MemoryInfo machine = read_host_memory();
    if (machine.total_bytes > 0) {
      const std::size_t room = machine.total_bytes - std::min(machine.total_bytes, allocated_bytes_);
      const std::size_t free_bytes = std::min(machine.free_bytes, room);
      if (bytes > free_bytes) fail_out_of_memory(what, bytes, free_bytes);
    }
    unchecked_bytes_ = 0;
  }
}

void HostMemory::take(std::size_t bytes, std::string_view what) {
  const std::lock_guard lock(mutex_);
  check_room(bytes, what);
  allocated_bytes_ += bytes;
  unchecked_bytes_ += bytes;
}

void HostMemory::give_back(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  allocated_bytes_ -= bytes;
}

void* HostMemory::allocate(std::size_t bytes, std::string_view what, std::size_t margin_bytes) {
  if (bytes == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  check_room(bytes, what);
  if (bytes > SIZE_MAX - kHostAlignment - margin_bytes) {
    fail_out_of_memory(what, bytes, read_host_memory().free_bytes);
  }

  const std::size_t rounded = (bytes + margin_bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
  void* const address = std::aligned_alloc(kHostAlignment, rounded);
  if (address == nullptr) fail_out_of_memory(what, bytes, read_host_memory().free_bytes);
  try {
    blocks_.emplace(address, rounded);
  } catch (const std::bad_alloc&) {
    std::free(address);
    fail_out_of_memory(what, bytes, 0);
  }
  allocated_bytes_ += rounded;
  unchecked_bytes_ += rounded;
  return address;
}

void HostMemory::free(void* address) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(address);
    if (found == blocks_.end()) return;
    allocated_bytes_ -= found->second;
    blocks_.erase(found);
  }
  std::free(address);
}

bool HostMemory::owns(const void* address) const {
  const std::lock_guard lock(mutex_);
  return blocks_.find(const_cast<void*>(address)) != blocks_.end();
}

Address HostMemory::allocate_on_device(std::size_t bytes) {
  return reinterpret_cast<Address>(allocate(bytes, "an allocation"));
}

void HostMemory::free_on_device(Address address) noexcept {
  free(reinterpret_cast<void*>(address));
}

}  // namespace gpuforge::device
