#include "gpuforge/sim/lanes/marked.h"

#include "gpuforge/sim/lanes/pattern.h"
#include "gpuforge/sim/thread_memory.h"
#include "gpuforge/sim/written.h"

namespace gpuforge::sim {
namespace {

// What a lane stores: its bits that were never written, byte by byte, and how they came here.
struct Stored {
  std::uint8_t unwritten[32] = {};
  bool computed = false;
  bool beside = true;
  bool padded = false;  // bytes that were written and bytes that were not, and no parts of bytes
};
Stored stored_by(const Warp& warp, const Op* op, std::uint32_t count, std::uint32_t element_bytes, int lane) {
  Stored all;
  for (std::uint32_t element = 0; element < count; ++element) {
    const int slot = static_cast<int>(element);
    UnwrittenValue one;
    if ((uninitialized_lanes(warp, op, slot) >> lane & 1) != 0)
      one = unwritten_value(warp, op, slot, lane, element_bytes);
    if (one.bits == 0) continue;
    for (std::uint32_t byte = 0; byte < element_bytes; ++byte)
      all.unwritten[element * element_bytes + byte] = static_cast<std::uint8_t>(one.bits >> (byte % 8 * 8));
    all.computed = all.computed || one.computed;
    all.beside = all.beside && one.beside;
  }
  std::uint32_t written = 0, missing = 0;
  for (std::uint32_t byte = 0; byte < count * element_bytes; ++byte) {
    written += all.unwritten[byte] == 0 ? 1 : 0;
    missing += all.unwritten[byte] == 0xff ? 1 : 0;
  }
  all.padded = written != 0 && missing != 0 && written + missing == count * element_bytes;
  return all;
}

// Where the bits of written bytes are kept. No word: all of the memory counts as written.
struct Bits {
  std::uint64_t* word = nullptr;
  std::uint64_t first = 0;
};
Bits bits_of(Warp& warp, const Located& at, int lane, std::uint32_t bytes) {
  Block& block = *warp.block;
  if (at.space == Space::shared) return {block.shared_initialized, at.offset};
  if (at.space == Space::local) {
    const std::uint64_t thread = std::uint64_t{warp.index} * kLanes + static_cast<std::uint64_t>(lane);
    return {block.local_initialized, thread * block.local_stride + at.offset};
  }
  const Allocation* const found = find_allocation(*block.launch, at.offset, bytes);
  if (found == nullptr || found->initialized_whole) return {};
  return {found->initialized.get(), at.offset - found->begin};
}

}  // namespace

void check_address(Warp& warp, const Op* op, std::uint32_t bytes) {
  if (!op->has_address_row || !warp.block->launch->checks.initialized) return;
  const Mask marked = uninitialized_address(warp, op) & warp.active;
  if (marked != 0) report_uninitialized_address(warp, op, first_lane(marked), bytes);
}

void check_operands(Warp& warp, const Op* op, std::uint32_t count, std::uint32_t bytes,
                    std::uint32_t first_slot) {
  if (!warp.block->launch->checks.initialized) return;
  Mask marked = 0;
  for (std::uint32_t slot = first_slot; slot < first_slot + count; ++slot)
    marked |= uninitialized_lanes(warp, op, static_cast<int>(slot));
  marked &= warp.active;
  if (marked == 0) return;
  const Located at = lane_place(warp, op, first_lane(marked));
  report_uninitialized_store(warp, op, at.space, first_lane(marked), at.offset, bytes);
}

void check_data(Warp& warp, const Op* op, std::uint32_t count, std::uint32_t element_bytes) {
  if (!warp.block->launch->checks.initialized) return;
  Mask marked = 0;
  for (std::uint32_t element = 0; element < count; ++element)
    marked |= uninitialized_lanes(warp, op, static_cast<int>(element));
  if ((marked & warp.active) == 0) return;
  const std::uint32_t bytes = count * element_bytes;
  bool reported = false;
  // In the lanes' order: where several store to one place, the highest one's bytes stay.
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = first_lane(left);
    const Located at = lane_place(warp, op, lane);
    const Stored stored = stored_by(warp, op, count, element_bytes, lane);
    const bool carried = stored.beside || stored.padded || at.space != Space::global;
    if (at.space != Space::local && (stored.computed || !carried)) {
      if (!reported) report_uninitialized_store(warp, op, at.space, lane, at.offset, bytes);
      reported = true;
    } else if (ThreadMemory* const own = warp.block->launch->own;
               at.space == Space::global && own != nullptr && own->apart()) {
      own->give_up();  // marks of global memory are kept when one thread runs all blocks
    } else if (const Bits bits = bits_of(warp, at, lane, bytes); bits.word != nullptr) {
      set_written(bits.word, bits.first, bytes);
      for (std::uint32_t byte = 0; byte < bytes; ++byte) {
        const std::uint8_t unwritten = stored.unwritten[byte];
        if (unwritten != 0 && at.space != Space::global)
          clear_partly(*warp.block, bits.word, bits.first + byte, unwritten);
        else if (unwritten == 0xff)  // global memory has no place for parts of a byte: they count as written
          clear_written(bits.word, bits.first + byte);
      }
    }
  }
}

}  // namespace gpuforge::sim
