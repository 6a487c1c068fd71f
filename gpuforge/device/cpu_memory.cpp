#include "gpuforge/device/cpu_memory.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "gpuforge/base/error.h"
#include "gpuforge/device/host_machine.h"

namespace gpuforge::device {
namespace {

// Reading the machine's free memory costs tens of microseconds, so small allocations share one reading.
constexpr std::size_t kCheckEveryBytes = std::size_t{64} << 20;

[[noreturn]] void fail_out_of_memory(std::string_view what, std::size_t bytes, std::size_t free_bytes) {
  throw Error(ErrorCode::out_of_memory,
              format_text("cpu: {} of {} bytes wanted, {} bytes are free", what, bytes, free_bytes));
}

}  // namespace

CpuMemory::~CpuMemory() {
  for (const auto& [address, bytes] : blocks_) std::free(address);
}

void* CpuMemory::allocate(std::size_t bytes, std::string_view what) {
  if (bytes == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  // Linux promises more memory than there is and kills whoever uses it, so the promise is checked here. Pages
  // not touched yet still count as available: what is already allocated is set against the total.
  if (bytes >= kCheckEveryBytes - std::min(unchecked_bytes_, kCheckEveryBytes)) {
    const MemoryInfo machine = read_host_memory();
    if (machine.total_bytes > 0) {
      const std::size_t room = machine.total_bytes - std::min(machine.total_bytes, allocated_bytes_);
      const std::size_t free_bytes = std::min(machine.free_bytes, room);
      if (bytes > free_bytes) fail_out_of_memory(what, bytes, free_bytes);
    }
    unchecked_bytes_ = 0;
  }
  if (bytes > SIZE_MAX - kCpuAlignment) fail_out_of_memory(what, bytes, read_host_memory().free_bytes);

  const std::size_t rounded = (bytes + kCpuAlignment - 1) / kCpuAlignment * kCpuAlignment;
  void* const address = std::aligned_alloc(kCpuAlignment, rounded);
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

void CpuMemory::free(void* address) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(address);
    if (found == blocks_.end()) return;
    allocated_bytes_ -= found->second;
    blocks_.erase(found);
  }
  std::free(address);
}

}  // namespace gpuforge::device
