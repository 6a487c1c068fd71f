// Where a memory instruction points, told apart by state space; finding allocations; saying what is wrong.
// Nothing here is called when all is well and the address lies where the last one did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gpuforge/sim/block.h"

namespace gpuforge::sim {

enum class Use : std::uint8_t { read, write, atomic };

std::string_view space_name(Space space);  // as findings and reports call it

struct Strength {
  Order order = Order::weak;
  Scope scope = Scope::sys;
};

// A generic address's space and offset in it; global addresses are their own offsets. A window reaches half
// its distance to the next below its start, so that offsets that went negative are told as what they were.
struct Located {
  Space space = Space::global;
  std::uint64_t offset = 0;
};
inline Located locate(std::uint64_t generic) {
  switch ((generic + (std::uint64_t{1} << 59)) >> 60) {
    case 1:
      return {Space::shared, generic - kSharedWindow};
    case 2:
      return {Space::local, generic - kLocalWindow};
    case 3:
      return {Space::param, generic - kParamWindow};
    default:
      return {Space::global, generic};
  }
}

// Where one lane of a memory instruction points.
Located lane_place(const Warp& warp, const Op* op, int lane);

inline bool holds(const Allocation& allocation, std::uint64_t address, std::size_t bytes) {
  const std::uint64_t offset = address - allocation.begin;
  return offset < allocation.bytes && bytes <= allocation.bytes - offset;
}
// The allocation that holds all of the bytes, which becomes the launch's hint; nullptr when there is none.
Allocation* find_allocation(Launch& launch, std::uint64_t address, std::size_t bytes);

// The findings that end a launch. `address` is the offset for shared, local and param, and is shown as the
// kernel wrote it (op->space).
void report_outside(Warp& warp, const Op* op, Use use, Space space, int lane, std::uint64_t address,
                    std::uint32_t bytes);
void report_misaligned(Warp& warp, const Op* op, Use use, Space space, int lane, std::uint64_t address,
                       std::uint32_t bytes);
void report_read_only(Warp& warp, const Op* op, Space space, int lane, std::uint64_t address,
                      std::uint32_t bytes);
// Findings that do not.
void report_uninitialized_store(Warp& warp, const Op* op, Space space, int lane, std::uint64_t address,
                                std::uint32_t bytes);
void report_uninitialized_atomic(Warp& warp, const Op* op, Space space, int lane, std::uint64_t address,
                                 std::uint32_t bytes);
void report_uninitialized_address(Warp& warp, const Op* op, int lane, std::uint32_t bytes);

// The executor's: memory for arguments and results of calls, where lane L's bytes are at the result +
// L * lane_stride + op->immediate; and the lanes of an address row that hold a value never written.
std::byte* function_param(Warp& warp, const Op* op, std::uint32_t* lane_stride);
Mask uninitialized_address(const Warp& warp, const Op* op);

}  // namespace gpuforge::sim
