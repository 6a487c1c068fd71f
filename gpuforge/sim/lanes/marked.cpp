#include "gpuforge/sim/lanes/marked.h"

#include "gpuforge/sim/lanes/pattern.h"
#include "gpuforge/sim/written.h"

namespace gpuforge::sim {

void check_address(Warp& warp, const Op* op, std::uint32_t bytes) {
  if (!op->has_address_row || !warp.block->launch->checks.initialized) return;
  const Mask marked = uninitialized_address(warp, op) & warp.active;
  if (marked != 0) report_uninitialized_address(warp, op, first_lane(marked), bytes);
}

void check_data(Warp& warp, const Op* op, std::uint32_t count, std::uint32_t element_bytes,
                std::uint32_t first_slot) {
  Block& block = *warp.block;
  if (!block.launch->checks.initialized) return;
  for (std::uint32_t element = 0; element < count; ++element) {
    const Mask marked = uninitialized_lanes(warp, op, static_cast<int>(first_slot + element)) & warp.active;
    bool reported = false;
    for (Mask left = marked; left != 0; left &= left - 1) {
      const int lane = first_lane(left);
      const Located at = lane_place(warp, op, lane);
      if (at.space == Space::local) {
        const std::uint64_t thread = std::uint64_t{warp.index} * kLanes + static_cast<std::uint64_t>(lane);
        clear_written(block.local_initialized,
                      thread * block.local_stride + at.offset + std::uint64_t{element} * element_bytes,
                      element_bytes);
      } else if (!reported) {
        report_uninitialized_store(warp, op, at.space, lane, at.offset, element_bytes * count);
        reported = true;
      }
    }
  }
}

}  // namespace gpuforge::sim
