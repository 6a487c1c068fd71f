#include "gpuforge/device/mapped_blocks.h"

#include <utility>

#include "gpuforge/base/error.h"

namespace gpuforge::device {

void check_multiple(std::size_t bytes, std::size_t granularity, const char* what,
                    const std::string& device_name) {
  GPUFORGE_CHECK(bytes % granularity == 0,
                 "{}: virtual memory: {} of {} is not a multiple of the granularity, {} bytes", device_name,
                 what, bytes, granularity);
}

void MappedBlocks::check_map(std::size_t offset, std::span<const std::shared_ptr<PhysicalBlock>> blocks,
                             std::size_t range_bytes, std::size_t granularity,
                             const std::string& device_name) const {
  check_multiple(offset, granularity, "an offset", device_name);
  std::size_t end = offset;
  for (const auto& block : blocks) {
    GPUFORGE_CHECK(block != nullptr, "{}: virtual memory: map got no block", device_name);
    GPUFORGE_CHECK(end <= range_bytes && block->bytes() <= range_bytes - end,
                   "{}: virtual memory: a block of {} bytes at offset {} does not fit a range of {} bytes",
                   device_name, block->bytes(), end, range_bytes);
    end += block->bytes();
  }
  const auto next = blocks_.lower_bound(offset);
  const bool free_after = next == blocks_.end() || next->first >= end;
  bool free_before = true;
  if (next != blocks_.begin()) {
    const auto previous = std::prev(next);
    free_before = previous->first + previous->second->bytes() <= offset;
  }
  GPUFORGE_CHECK(free_after && free_before,
                 "{}: virtual memory: something is mapped already between offsets {} and {}; unmap it first",
                 device_name, offset, end);
}

void MappedBlocks::add(std::size_t offset, std::shared_ptr<PhysicalBlock> block) {
  blocks_.emplace(offset, std::move(block));
}

std::vector<std::shared_ptr<PhysicalBlock>> MappedBlocks::take(std::size_t offset, std::size_t bytes,
                                                               const std::string& device_name) {
  const auto first = blocks_.find(offset);
  auto last = first;
  std::size_t reached = offset;
  while (last != blocks_.end() && last->first == reached && reached - offset < bytes) {
    reached += last->second->bytes();
    ++last;
  }
  GPUFORGE_CHECK(reached - offset == bytes,
                 "{}: virtual memory: offsets {} to {} are not mapped blocks in a row, so they cannot be "
                 "unmapped as one",
                 device_name, offset, offset + bytes);
  std::vector<std::shared_ptr<PhysicalBlock>> taken;
  for (auto at = first; at != last; ++at) taken.push_back(std::move(at->second));
  if (first != last) blocks_.erase(first, last);
  return taken;
}

}  // namespace gpuforge::device
