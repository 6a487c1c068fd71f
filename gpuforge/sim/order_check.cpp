#include "gpuforge/sim/order_check.h"

#include <cstring>

namespace gpuforge::sim {

MemoryCopy::MemoryCopy(std::shared_ptr<const Allocations> allocations)
    : allocations_(std::move(allocations)) {
  for (const auto& allocation : *allocations_) {
    One one;
    if (!allocation->read_only) {
      const auto* const begin = reinterpret_cast<const std::byte*>(allocation->begin);
      one.bytes.assign(begin, begin + allocation->bytes);
      one.initialized_whole = allocation->initialized_whole;
      const std::size_t words = (allocation->bytes + 63) / 64;
      if (allocation->initialized != nullptr)
        one.initialized.assign(allocation->initialized.get(), allocation->initialized.get() + words);
    }
    copies_.push_back(std::move(one));
  }
}

void MemoryCopy::put_back() const {
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    Allocation& allocation = *(*allocations_)[i];
    const One& one = copies_[i];
    if (allocation.read_only) continue;
    if (!one.bytes.empty())
      std::memcpy(reinterpret_cast<void*>(allocation.begin), one.bytes.data(), one.bytes.size());
    allocation.initialized_whole = one.initialized_whole;
    if (!one.initialized.empty())
      std::memcpy(allocation.initialized.get(), one.initialized.data(), one.initialized.size() * 8);
  }
}

std::optional<MemoryCopy::Difference> MemoryCopy::difference() const {
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const Allocation& allocation = *(*allocations_)[i];
    const auto* const now = reinterpret_cast<const std::byte*>(allocation.begin);
    for (std::size_t at = 0; at < copies_[i].bytes.size(); ++at)
      if (now[at] != copies_[i].bytes[at]) return Difference{&allocation, allocation.begin + at};
  }
  return std::nullopt;
}

}  // namespace gpuforge::sim
