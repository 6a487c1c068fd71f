// Values that were never written, followed through registers. Only warps that hold one run through here.
#include <algorithm>
#include <bit>

#include "gpuforge/base/format.h"
#include "gpuforge/sim/block.h"
#include "gpuforge/sim/control.h"
#include "gpuforge/sim/fragments.h"
#include "gpuforge/sim/marks.h"
#include "gpuforge/sim/opcode.h"
#include "gpuforge/sim/written.h"

namespace gpuforge::sim {
namespace {

bool any_marks(const Warp& warp) {
  const Code& code = *warp.frame->code;
  const std::byte* const begin = warp.rows + code.row_marks;
  const std::byte* const end = warp.rows + code.frame_bytes;
  const auto is_set = [](auto one) { return one != decltype(one){}; };
  const std::vector<std::uint8_t>& params = warp.frame->params_unwritten;
  return std::any_of(begin, end, is_set) || std::any_of(params.begin(), params.end(), is_set);
}

bool is_branch_table(const Op* op) {
  return op->inner.full == table_handlers().full;
}
bool is_indirect_call(const Warp& warp, const Op* op) {
  if (op->inner.full != call_handlers().full) return false;
  const Call& call = warp.frame->code->calls[op->target];
  return call.callee == Call::kIndirect && call.builtin == Builtin::none;
}

void check_steering(Warp& warp, const Op* op) {
  if (!is_branch_table(op) && !is_indirect_call(warp, op)) return;
  const Mask marked = marks_of(warp, op->operand[0]) & warp.active;
  if (marked != 0)
    report_use(warp, op, marked, is_branch_table(op) ? "a branch" : "which function is called");
}

const Op* run_inner(Warp& warp, const Op* op, bool partial) {
  if (op->run[0] == run_guarded) return (partial ? run_guarded_masked : run_guarded)(warp, op);
  return (partial ? op->inner.masked : op->inner.full)(warp, op);
}

}  // namespace

void start_tracking(Warp& warp) {
  if (warp.tracking) return;
  warp.tracking = true;
  // Inside a guarded op `active` is narrower than the fragment; the mode is set right when that ends.
  warp.mode = Mode::tracked;
}

void report_use(Warp& warp, const Op* op, Mask lanes, std::string_view use) {
  if (Finding* finding = report(warp, op, FindingKind::uninitialized, std::countr_zero(lanes), false))
    finding->message = format_text("{} depends on a value that was never written", use);
}

void check_use(Warp& warp, const Op* op, int slot, std::string_view use) {
  if (warp.mode != Mode::tracked || op->operand[static_cast<std::size_t>(slot)] == kNoOperand) return;
  if (const Mask lanes = uninitialized_lanes(warp, op, slot); lanes != 0) report_use(warp, op, lanes, use);
}

Mask uninitialized_lanes(const Warp& warp, const Op* op, int slot) {
  return marks_of(warp, op->operand[static_cast<std::size_t>(slot)]) & warp.active;
}

UnwrittenValue unwritten_value(const Warp& warp, const Op* op, int slot, int lane, std::uint32_t bytes) {
  const std::uint32_t offset = op->operand[static_cast<std::size_t>(slot)];
  const Origin origin = origin_of(*warp.frame, offset, lane);
  UnwrittenValue value{0, origin.computed, origin.beside};
  const unsigned bits = std::min(bytes, 8u) * 8;
  value.bits =
      bytes > 8 ? low_bits(64) : unwritten_bits(*warp.frame, offset, lane, op->register_bytes == 8, bits);
  return value;
}

Mask uninitialized_address(const Warp& warp, const Op* op) {
  return op->has_address_row ? marks_of(warp, op->address) & warp.active : 0;
}

void mark_uninitialized(Warp& warp, const Op* op, Mask lanes) {
  if (!warp.block->launch->checks.initialized) return;
  for (std::size_t slot = 0; slot < op->operand.size(); ++slot) {
    if ((op->destinations >> slot & 1) == 0) continue;
    marks_of(warp, op->operand[slot]) |= lanes;
    forget_details(*warp.frame, op->operand[slot], lanes);
  }
  start_tracking(warp);
}

void mark_unwritten(Warp& warp, const Op* op, int lane, std::span<const std::uint8_t> unwritten,
                    bool beside) {
  if (!warp.block->launch->checks.initialized) return;
  const std::size_t bytes = unwritten.size() / op->count;
  const bool repeats_sign = warp.block->launch->image->sites[op->site].spread.is_signed;
  for (std::size_t element = 0; element < op->count; ++element) {
    const auto missing = unwritten.subspan(element * bytes, bytes);
    std::uint64_t bits = 0;
    std::memcpy(&bits, missing.data(), std::min<std::size_t>(bytes, 8));
    if (repeats_sign && bits >> (8 * bytes - 1) != 0) bits |= ~low_bits(8 * bytes);
    // Of 128 bits only a mark is kept, so all of them must be missing.
    const bool marked = bytes > 8 ? std::count(missing.begin(), missing.end(), 0xff) == 16 : bits != 0;
    if (!marked) continue;
    marks_of(warp, op->operand[element]) |= Mask{1} << lane;
    if (bytes <= 8)
      set_detail(*warp.frame, op->operand[element], lane, op->register_bytes == 8, bits, {false, beside});
  }
  start_tracking(warp);
}

void store_param_marks(Warp& warp, const Op* op, std::uint32_t count, std::uint32_t element_bytes) {
  Frame& frame = *warp.frame;
  for (std::uint32_t element = 0; element < count; ++element) {
    const std::uint32_t offset = op->operand[element];
    if ((marks_of(warp, offset) & warp.active) == 0 && frame.params_unwritten.empty()) continue;
    frame.params_unwritten.resize(frame.params.size());
    for (Mask left = warp.active; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const std::uint64_t bits = unwritten_bits(frame, offset, lane, op->register_bytes == 8, 64);
      const std::size_t at = static_cast<std::size_t>(lane) * frame.code->param_bytes +
                             static_cast<std::size_t>(op->immediate) + std::size_t{element} * element_bytes;
      for (std::size_t byte = 0; byte < element_bytes; byte += 8)
        std::memcpy(frame.params_unwritten.data() + at + byte, &bits,
                    std::min<std::size_t>(element_bytes, 8));
    }
  }
}

void load_param_marks(Warp& warp, const Op* op, std::uint32_t count, std::uint32_t element_bytes) {
  const Frame& frame = *warp.frame;
  if (frame.params_unwritten.empty()) return;
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const std::size_t at =
        static_cast<std::size_t>(lane) * frame.code->param_bytes + static_cast<std::size_t>(op->immediate);
    const auto unwritten = std::span(frame.params_unwritten).subspan(at, std::size_t{count} * element_bytes);
    const auto whole = std::count(unwritten.begin(), unwritten.end(), 0xff);
    const auto none = std::count(unwritten.begin(), unwritten.end(), 0);
    const bool padded = none != 0 && static_cast<std::size_t>(whole + none) == unwritten.size();
    if (static_cast<std::size_t>(none) != unwritten.size()) mark_unwritten(warp, op, lane, unwritten, padded);
  }
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
  const Site& site = warp.block->launch->image->sites[op->site];
  // The decoder's own ops stand at the site of the instruction they prepare.
  const bool is_own = op->inner.full == negate_handlers().full;
  if (!is_own && (site.op_class == OpClass::load || site.op_class == OpClass::atomic)) {
    set_results(warp, op, lanes, 0);
    return run_inner(warp, op, partial);
  }
  check_steering(warp, op);
  if (!is_own && site.op_class == OpClass::warp) {
    // A lane may wait in here for others, so that marks are known only when it ran: these instructions set
    // those of their results.
    if (site.spread.kind == Spread::shuffle) forget_details(*warp.frame, op->operand[0], kAllLanes);
    return run_inner(warp, op, partial);
  }
  spread_marks(warp, op, is_own ? SpreadRule() : site.spread, lanes);
  return run_inner(warp, op, partial);
}

}  // namespace gpuforge::sim
