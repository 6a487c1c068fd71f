// Values that were never written, followed through registers. Only warps that hold one run through here.
#include <algorithm>
#include <bit>

#include "gpuforge/base/format.h"
#include "gpuforge/sim/block.h"
#include "gpuforge/sim/control.h"
#include "gpuforge/sim/fragments.h"

namespace gpuforge::sim {
namespace {

bool any_marks(const Warp& warp) {
  const Code& code = *warp.frame->code;
  const std::byte* const begin = warp.rows + code.row_marks;
  const std::byte* const end = warp.rows + code.frame_bytes;
  return std::any_of(begin, end, [](std::byte one) { return one != std::byte{0}; });
}

void report_use(Warp& warp, const Op* op, Mask lanes, std::string_view use) {
  if (Finding* finding = report(warp, op, FindingKind::uninitialized, std::countr_zero(lanes), false))
    finding->message = format_text("{} depends on a value that was never written", use);
}

// Lanes whose result depends on a marked source.
Mask spread(const Warp& warp, const Op* op) {
  Mask marked = 0;
  if (op->selects) {  // destination, a, b, predicate (selp) or value (slct): the side not taken does not
                      // matter
    const std::uint32_t choice = op->operand[3];
    Mask first = 0;
    if (choice >= warp.frame->code->masks_begin) {
      first = predicate(warp, choice);
      return (marks_of(warp, op->operand[1]) & first) | (marks_of(warp, op->operand[2]) & ~first) |
             marks_of(warp, choice);
    }
  }
  const std::string_view text = warp.block->launch->image->sites[op->site].text;
  const bool conjunction = text.starts_with("and.pred");
  if (conjunction ||
      text.starts_with("or.pred")) {  // a side that decides alone makes the other one not matter
    const Mask a = op->operand[1], b = op->operand[2];
    const Mask decides_a = (conjunction ? ~predicate(warp, a) : predicate(warp, a)) & ~marks_of(warp, a);
    const Mask decides_b = (conjunction ? ~predicate(warp, b) : predicate(warp, b)) & ~marks_of(warp, b);
    return (marks_of(warp, a) | marks_of(warp, b)) & ~decides_a & ~decides_b & warp.active;
  }
  for (int slot = 0; slot < static_cast<int>(op->operand.size()); ++slot)
    if ((op->sources >> slot & 1) != 0 && op->operand[static_cast<std::size_t>(slot)] != kNoOperand)
      marked |= marks_of(warp, op->operand[static_cast<std::size_t>(slot)]);
  return marked & warp.active;
}

}  // namespace

Mask uninitialized_lanes(const Warp& warp, const Op* op, int slot) {
  return marks_of(warp, op->operand[static_cast<std::size_t>(slot)]) & warp.active;
}

Mask uninitialized_address(const Warp& warp, const Op* op) {
  return op->has_address_row ? marks_of(warp, op->address) & warp.active : 0;
}

void mark_uninitialized(Warp& warp, const Op* op, Mask lanes) {
  if (!warp.block->launch->checks.initialized) return;
  for (int slot = 0; slot < static_cast<int>(op->operand.size()); ++slot)
    if ((op->destinations >> slot & 1) != 0)
      marks_of(warp, op->operand[static_cast<std::size_t>(slot)]) |= lanes;
  if (warp.tracking) return;
  warp.tracking = true;
  // Inside a guarded op `active` is narrower than the fragment; the mode is set right when that ends.
  warp.mode = Mode::tracked;
}

const Op* run_tracked(Warp& warp, const Op* op) {
  const bool partial = warp.active != warp.live;
  if (op->inner.full == enter_handlers().full) {
    if (warp.others == 0 && warp.frame->caller == nullptr && !any_marks(warp)) {
      warp.tracking = false;
      update_mode(warp);
    }
    return op->inner.full(warp, op);
  }
  if (partial) set_lane_mask(warp);
  Mask lanes = warp.active;
  if (op->has_guard) {
    const Mask marked = marks_of(warp, op->guard) & warp.active;
    const bool branches = op->inner.full == branch_handlers().full;
    if (marked != 0) report_use(warp, op, marked, branches ? "a branch" : "whether this instruction runs");
    lanes &= predicate(warp, op->guard) ^ (op->guard_negated ? kAllLanes : 0u);
  }
  const OpClass op_class = warp.block->launch->image->sites[op->site].op_class;
  const bool from_memory = op_class == OpClass::load || op_class == OpClass::atomic;
  const Mask marked = from_memory ? 0 : spread(warp, op);
  const bool by_handler = op_class == OpClass::warp;  // when the lanes it waits for are there
  for (int slot = 0; slot < static_cast<int>(op->operand.size()); ++slot)
    if (!by_handler && (op->destinations >> slot & 1) != 0) {
      Mask& marks = marks_of(warp, op->operand[static_cast<std::size_t>(slot)]);
      marks = (marks & ~lanes) | (marked & lanes);
    }
  if (op->run[0] == run_guarded) return (partial ? run_guarded_masked : run_guarded)(warp, op);
  return (partial ? op->inner.masked : op->inner.full)(warp, op);
}

}  // namespace gpuforge::sim
