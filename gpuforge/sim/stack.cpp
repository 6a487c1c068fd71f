// alloca, stacksave, stackrestore: local memory beyond what a function declares. It grows upwards, by lane.
#include "gpuforge/sim/stack.h"

#include <algorithm>
#include <bit>

#include "gpuforge/base/format.h"
#include "gpuforge/sim/block.h"

namespace gpuforge::sim {
namespace {

constexpr std::uint64_t kLeastAlignment = 8;

// What lies there from now on was never written.
void forget(Block& block, const Warp& warp, int lane, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t thread = std::uint64_t{warp.index} * kLanes + static_cast<std::uint64_t>(lane);
  const std::uint64_t first = thread * block.local_stride;
  for (std::uint64_t at = first + begin; at < first + end;) {
    const std::uint64_t count = std::min(64 - at % 64, first + end - at);
    const std::uint64_t bits = count == 64 ? ~std::uint64_t{0} : ((std::uint64_t{1} << count) - 1) << at % 64;
    block.local_initialized[at / 64] &= ~bits;
    at += count;
  }
}

template <class T>
const Op* allocate(Warp& warp, const Op* op) {
  Block& block = *warp.block;
  const std::uint64_t alignment = std::max(kLeastAlignment, static_cast<std::uint64_t>(op->immediate));
  const auto* size = row<T>(warp, op->operand[1]);
  auto* to = row<T>(warp, op->operand[0]);
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    std::uint32_t& top = warp.frame->stack[static_cast<std::size_t>(lane)];
    const std::uint64_t at = (top + alignment - 1) / alignment * alignment;
    const std::uint64_t bytes = size[lane];
    if (at > block.local_stride || bytes > block.local_stride - at) {
      if (Finding* finding = report(warp, op, FindingKind::stack_overflow, lane, true)) {
        finding->space = "local";
        finding->message =
            format_text("alloca of {} bytes, and of the {} bytes of local memory of a thread {} are used",
                        bytes, block.local_stride, top);
      }
      return nullptr;
    }
    top = static_cast<std::uint32_t>(at + bytes);
    forget(block, warp, lane, at, top);
    to[lane] = static_cast<T>(at);
  }
  return op + 1;
}

template <class T>
const Op* save(Warp& warp, const Op* op) {
  auto* to = row<T>(warp, op->operand[0]);
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    to[lane] = warp.frame->stack[static_cast<std::size_t>(lane)];
  }
  return op + 1;
}

template <class T>
const Op* restore(Warp& warp, const Op* op) {
  const std::uint32_t bottom = warp.frame->local_base + warp.frame->code->local_bytes;
  const auto* from = row<T>(warp, op->operand[0]);
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    std::uint32_t& top = warp.frame->stack[static_cast<std::size_t>(lane)];
    if (from[lane] < bottom || from[lane] > top) {
      if (Finding* finding = report(warp, op, FindingKind::out_of_bounds, lane, true)) {
        finding->space = "local";
        finding->address = from[lane];
        finding->message = format_text(
            "stackrestore of {}, which no stacksave of this function gave: its stack lies between {} and {}",
            std::uint64_t{from[lane]}, bottom, top);
      }
      return nullptr;
    }
    forget(*warp.block, warp, lane, from[lane], top);
    top = static_cast<std::uint32_t>(from[lane]);
  }
  return op + 1;
}

}  // namespace

Handlers bind_alloca(const Match& match) {
  return match.type == Type::u64 ? Handlers{allocate<std::uint64_t>, allocate<std::uint64_t>}
                                 : Handlers{allocate<std::uint32_t>, allocate<std::uint32_t>};
}
Handlers bind_stack_save(const Match& match) {
  return match.type == Type::u64 ? Handlers{save<std::uint64_t>, save<std::uint64_t>}
                                 : Handlers{save<std::uint32_t>, save<std::uint32_t>};
}
Handlers bind_stack_restore(const Match& match) {
  return match.type == Type::u64 ? Handlers{restore<std::uint64_t>, restore<std::uint64_t>}
                                 : Handlers{restore<std::uint32_t>, restore<std::uint32_t>};
}

}  // namespace gpuforge::sim
