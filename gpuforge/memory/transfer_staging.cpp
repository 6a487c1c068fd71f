#include "gpuforge/memory/transfer_staging.h"

#include <algorithm>

namespace gpuforge::memory {

PinnedStaging::~PinnedStaging() {
  for (const Kept& kept : kept_) device_->free_pinned(kept.buffer);
}

void* PinnedStaging::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(kept_, bytes, &Kept::bytes);
  if (found == kept_.end()) return device_->allocate_pinned(bytes);
  void* const buffer = found->buffer;
  kept_.erase(found);
  return buffer;
}

void PinnedStaging::give_back(void* buffer, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    kept_.push_back({buffer, bytes});
  } catch (...) {  // no memory to remember it with
    device_->free_pinned(buffer);
  }
}

}  // namespace gpuforge::memory
