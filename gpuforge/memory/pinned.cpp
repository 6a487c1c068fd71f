#include "gpuforge/memory/pinned.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "gpuforge/base/error.h"

namespace gpuforge::memory {
namespace {
constexpr std::size_t kSmallestBytes = 4096;
}

std::size_t PinnedPool::block_bytes(std::size_t bytes) {
  if (bytes <= kSmallestBytes) return kSmallestBytes;
  if (bytes > (std::size_t{1} << 62)) return bytes;  // which nobody has
  const std::size_t above = std::bit_ceil(bytes);
  return bytes <= above / 4 * 3 ? above / 4 * 3 : above;
}

PinnedPool::PinnedPool(std::shared_ptr<device::Device> device, std::size_t quota_bytes)
    : device_(std::move(device)) {
  GPUFORGE_CHECK(device_ != nullptr, "memory: a pinned pool needs a device, and none was given");
  statistics_.quota_bytes = quota_bytes;
}

PinnedPool::~PinnedPool() {
  trim();
}

void* PinnedPool::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::size_t block = block_bytes(bytes);
  for (const bool last_try : {false, true}) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = kept_.find(block); found != kept_.end() && !found->second.empty()) {
        void* const address = found->second.back();
        found->second.pop_back();
        ++statistics_.allocations;
        ++statistics_.reuses;
        statistics_.live_bytes += block;
        return address;
      }
      const std::size_t quota = statistics_.quota_bytes;
      const std::size_t reserved = statistics_.reserved_bytes;
      if (quota == 0 || block <= quota - std::min(quota, reserved)) {
        void* const address = device_->allocate_pinned(block);
        ++statistics_.allocations;
        statistics_.live_bytes += block;
        statistics_.reserved_bytes += block;
        statistics_.peak_reserved_bytes =
            std::max(statistics_.peak_reserved_bytes, statistics_.reserved_bytes);
        return address;
      }
      if (last_try) {
        throw Error(ErrorCode::out_of_memory,
                    format_text("{}: a pinned allocation of {} bytes wanted, and of the quota of {} bytes {} "
                                "are free; raise the quota or free pinned memory first",
                                device_->facts().name, bytes, quota, quota - std::min(quota, reserved)));
      }
    }
    trim();
  }
  return nullptr;
}

void PinnedPool::free(void* address, std::size_t bytes) noexcept {
  if (address == nullptr) return;
  const std::size_t block = block_bytes(bytes);
  const std::lock_guard lock(mutex_);
  statistics_.live_bytes -= block;
  try {
    kept_[block].push_back(address);
  } catch (...) {
    statistics_.reserved_bytes -= block;
    device_->free_pinned(address);
  }
}

void PinnedPool::trim() noexcept {
  std::map<std::size_t, std::vector<void*>> kept;
  {
    const std::lock_guard lock(mutex_);
    kept.swap(kept_);
    for (const auto& [block, addresses] : kept) statistics_.reserved_bytes -= block * addresses.size();
  }
  for (const auto& [block, addresses] : kept) {
    for (void* const address : addresses) device_->free_pinned(address);
  }
}

PinnedStatistics PinnedPool::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

PinnedBuffer::PinnedBuffer(std::shared_ptr<PinnedPool> pool, std::size_t bytes)
    : pool_(std::move(pool)), data_(pool_->allocate(bytes)), bytes_(bytes) {}

PinnedBuffer::~PinnedBuffer() {
  if (pool_ != nullptr) pool_->free(data_, bytes_);
}

PinnedBuffer::PinnedBuffer(PinnedBuffer&& other) noexcept
    : pool_(std::move(other.pool_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  PinnedBuffer taken(std::move(other));
  std::swap(pool_, taken.pool_);
  std::swap(data_, taken.data_);
  std::swap(bytes_, taken.bytes_);
  return *this;
}

}  // namespace gpuforge::memory
