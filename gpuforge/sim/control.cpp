#include "gpuforge/sim/control.h"

#include <algorithm>
#include <bit>

#include "gpuforge/base/format.h"
#include "gpuforge/sim/block.h"
#include "gpuforge/sim/builtins.h"
#include "gpuforge/sim/fragments.h"
#include "gpuforge/sim/marks.h"
#include "gpuforge/sim/schedule.h"
#include "gpuforge/sim/written.h"

namespace gpuforge::sim {
namespace {

constexpr std::uint32_t kMaxDepth = 4096;  // calls

// Where an unconditional branch leads, so that fragments that are to meet are seen at the same op.
const Op* landing(const Op* op) {
  while (op->inner.full == branch_handlers().full && !op->has_guard)
    op += static_cast<std::int32_t>(op->target);
  return op;
}

const Op* branch(Warp& warp, const Op* op) {
  const Op* const there = op + static_cast<std::int32_t>(op->target);
  if (!op->has_guard) return there;
  const Mask held = predicate(warp, op->guard) ^ (op->guard_negated ? kAllLanes : 0u);
  const Mask taken = warp.active & held;
  if (taken == 0) return op + 1;
  if (taken == warp.active) return there;
  warp.sites[op->site].divergent += 1;
  const Op* const target = landing(there);
  const Op* const next = landing(op + 1);
  const Mask stays = warp.active & ~taken;
  const bool target_first = stands_before(warp.frame, target, warp.frame, next);
  make_active(warp, target_first ? stays : taken, warp.frame);
  set_aside(warp, target_first ? next : target, Wait::ready);
  make_active(warp, target_first ? taken : stays, warp.frame);
  return target_first ? target : next;
}

const Op* table(Warp& warp, const Op* op) {
  const std::vector<std::int32_t>& targets = warp.frame->code->branch_tables[op->target];
  const auto* index = row<std::uint32_t>(warp, op->operand[0]);
  const Op* const base = warp.frame->code->ops.data();
  Frame* const frame = warp.frame;
  Mask rest = warp.active;
  std::uint32_t ways = 0;
  while (rest != 0) {
    const int lane = std::countr_zero(rest);
    const std::uint32_t which = index[lane];
    if (which >= targets.size()) {
      if (Finding* finding = report(warp, op, FindingKind::out_of_bounds, lane, true)) {
        finding->space = "branch table";
        finding->address = which;
        finding->message =
            format_text("brx.idx with index {}, and its table has {} targets", which, targets.size());
      }
      return nullptr;
    }
    Mask same = 0;
    for (Mask left = rest; left != 0; left &= left - 1)
      if (index[std::countr_zero(left)] == which) same |= left & (~left + 1);
    rest &= ~same;
    ++ways;
    warp.active = same;
    set_aside(warp, landing(base + targets[which]), Wait::ready);
  }
  warp.frame = frame;
  if (ways > 1) warp.sites[op->site].divergent += 1;
  return take_next(warp);
}

const Op* enter(Warp& warp, const Op* op) {
  if (warp.fuel <= 0 || warp.others != 0) {
    if (warp.fuel <= 0 && !refuel(warp, op)) return nullptr;
    if (warp.others != 0) {
      const Op* const next = meet(warp, op);
      if (next != op) return next;
    }
  }
  BlockCount& count = warp.counts[op->target];
  ++count.warps;
  count.threads += static_cast<std::uint64_t>(std::popcount(warp.active));
  warp.fuel -= op->immediate;
  return op + 1;
}

// Values handed over between the frames of a call, for the lanes `lanes`.
void hand_over(Frame& from, const std::vector<Passed>& given, Frame& to, const std::vector<Passed>& taken,
               Mask lanes) {
  const std::size_t count = std::min(given.size(), taken.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Passed& source = given[i];
    const Passed& target = taken[i];
    if (source.in_row && source.bytes == 0) {  // a predicate
      Mask value = 0, old = 0;
      std::memcpy(&value, from.rows.data() + source.offset, 4);
      std::memcpy(&old, to.rows.data() + target.offset, 4);
      value = (old & ~lanes) | (value & lanes);
      std::memcpy(to.rows.data() + target.offset, &value, 4);
      continue;
    }
    const std::uint32_t bytes = std::min(source.bytes, target.bytes);
    for (Mask left = lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(left));
      const std::byte* const source_at =
          source.in_row ? from.rows.data() + source.offset + lane * source.bytes
                        : from.params.data() + lane * from.code->param_bytes + source.offset;
      std::byte* const target_at = target.in_row
                                       ? to.rows.data() + target.offset + lane * target.bytes
                                       : to.params.data() + lane * to.code->param_bytes + target.offset;
      std::memcpy(target_at, source_at, bytes);
    }
  }
}

void leave_frame(Warp& warp, Frame* frame, Mask lanes) {
  frame->lanes &= ~lanes;
  if (frame->lanes != 0 || frame->caller == nullptr) return;
  auto& frames = warp.block->frames;
  for (std::size_t i = 0; i < frames.size(); ++i)
    if (frames[i].get() == frame) {
      std::swap(frames[i], frames.back());
      frames.pop_back();
      return;
    }
}

const Op* overflow(Warp& warp, const Op* op, int lane) {
  if (Finding* finding = report(warp, op, FindingKind::stack_overflow, lane, true)) {
    finding->space = "local";
    finding->message =
        format_text("calls nest {} deep, or need more than the {} bytes of local memory of a thread",
                    warp.frame->depth + 1, warp.block->local_stride);
  }
  return nullptr;
}

void copy_to_local(const Warp& warp, const Frame& frame) {
  Block& block = *warp.block;
  for (const LocalCopy& copy : frame.code->copies)
    for (Mask left = warp.active; left != 0; left &= left - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
      const std::size_t thread = std::size_t{warp.index} * kLanes + lane;
      const std::size_t at = thread * block.local_stride + frame.local_base + copy.to;
      std::memcpy(block.local + at,
                  frame.params.data() + std::size_t{lane} * frame.code->param_bytes + copy.from, copy.bytes);
      set_written(block.local_initialized, at, copy.bytes);
      if (frame.params_unwritten.empty()) continue;
      const std::uint8_t* const unwritten =
          frame.params_unwritten.data() + std::size_t{lane} * frame.code->param_bytes + copy.from;
      for (std::size_t byte = 0; byte < copy.bytes; ++byte)
        if (unwritten[byte] != 0) clear_partly(block, block.local_initialized, at + byte, unwritten[byte]);
    }
}

// Behind all that the running lanes' function has in local memory.
std::uint32_t end_of_locals(const Warp& warp) {
  const Frame& frame = *warp.frame;
  std::uint32_t end = frame.local_base + frame.code->local_bytes;
  if (!warp.block->uses_stack) return end;
  for (Mask left = warp.active; left != 0; left &= left - 1)
    end = std::max(end, frame.stack[static_cast<std::size_t>(std::countr_zero(left))]);
  return (end + 15) / 16 * 16;
}

// Starts `code` for the running lanes; they go on behind `op` when it returns.
const Op* start_call(Warp& warp, const Op* op, const Call& call, const Code& code) {
  Frame& caller = *warp.frame;
  const std::uint32_t local_base = end_of_locals(warp);
  if (caller.depth + 1 >= kMaxDepth || local_base + code.local_bytes > warp.block->local_stride)
    return overflow(warp, op, std::countr_zero(warp.active));
  auto frame = std::make_unique<Frame>(code, caller.depth + 1);
  frame->caller = &caller;
  frame->return_to = op + 1;
  frame->call = &call;
  frame->lanes = warp.active;
  frame->serial = ++warp.frame_serial;
  frame->local_base = local_base;
  start_frame(warp, *frame);
  hand_over(caller, call.arguments, *frame, code.parameters, warp.active);
  if (warp.tracking) hand_over_marks(caller, call.arguments, *frame, code.parameters, warp.active);
  make_active(warp, warp.active, frame.get());
  copy_to_local(warp, *frame);
  warp.block->frames.push_back(std::move(frame));
  return code.ops.data();
}

const Op* call(Warp& warp, const Op* op) {
  const Call& call = warp.frame->code->calls[op->target];
  const Image& image = *warp.block->launch->image;
  if (call.builtin != Builtin::none) return call_builtin(warp, op, call) ? op + 1 : nullptr;
  if (call.callee != Call::kIndirect) return start_call(warp, op, call, image.codes[call.callee]);
  const auto* targets = row<std::uint64_t>(warp, call.target_row);
  const int lane = std::countr_zero(warp.active);
  const std::uint64_t target = targets[lane];
  const std::uint64_t index = (target - kFunctionWindow) / 16;
  if (target < kFunctionWindow || target % 16 != 0 || index >= image.code_of_function.size() ||
      image.code_of_function[index] == Call::kIndirect) {
    if (Finding* finding = report(warp, op, FindingKind::out_of_bounds, lane, true)) {
      finding->space = "code";
      finding->address = target;
      finding->message = format_text("a call to 0x{:x}, which is no function of this program", target);
    }
    return nullptr;
  }
  Mask same = 0;
  for (Mask left = warp.active; left != 0; left &= left - 1)
    if (targets[std::countr_zero(left)] == target) same |= left & (~left + 1);
  if (same != warp.active) {  // the others call in their turn
    warp.sites[op->site].divergent += 1;
    Frame* const frame = warp.frame;
    make_active(warp, warp.active & ~same, frame);
    set_aside(warp, op, Wait::ready);
    make_active(warp, same, frame);
  }
  return start_call(warp, op, call, image.codes[image.code_of_function[index]]);
}

const Op* leave_function(Warp& warp, const Op*) {
  Frame* const frame = warp.frame;
  Frame* const caller = frame->caller;
  const Op* const next = frame->return_to;
  const Mask lanes = warp.active;
  hand_over(*frame, frame->code->results, *caller, frame->call->results, lanes);
  if (warp.tracking) hand_over_marks(*frame, frame->code->results, *caller, frame->call->results, lanes);
  make_active(warp, lanes, caller);
  leave_frame(warp, frame, lanes);
  return next;
}

const Op* exit_lanes(Warp& warp, const Op*) {
  const Mask lanes = warp.active;
  for (Frame* frame = warp.frame; frame != nullptr;) {
    Frame* const caller = frame->caller;
    leave_frame(warp, frame, lanes);
    frame = caller;
  }
  warp.live &= ~lanes;
  warp.block->exited_threads += static_cast<std::uint32_t>(std::popcount(lanes));
  lanes_exited(warp, lanes);
  return take_next(warp);
}

const Op* negate(Warp& warp, const Op* op) {
  Mask& to = predicate(warp, op->operand[0]);
  to = (to & ~warp.active) | (~predicate(warp, op->operand[1]) & warp.active);
  return op + 1;
}

const Op* refresh(Warp& warp, const Op* op) {
  warp.clock += 1;
  fill_special(warp, *warp.frame,
               {op->operand[0], op->register_bytes, static_cast<SpecialRegister>(op->target), 0});
  return op + 1;
}

const Op* guarded(Warp& warp, const Op* op, bool partial) {
  const Mask held = predicate(warp, op->guard) ^ (op->guard_negated ? kAllLanes : 0u);
  const Mask outer = warp.active;
  const Mask lanes = outer & held;
  SiteCounters& counters = warp.sites[op->site];
  counters.warp_instructions += 1;
  counters.thread_instructions += static_cast<std::uint64_t>(std::popcount(lanes));
  if (lanes == 0) return op + 1;
  if (lanes == outer) return (partial ? op->inner.masked : op->inner.full)(warp, op);
  warp.active = lanes;
  set_lane_mask(warp);
  const Op* const next = op->inner.masked(warp, op);
  warp.active = outer;
  if (partial) set_lane_mask(warp);
  return next;
}

}  // namespace

Handlers branch_handlers() {
  return {branch, branch};
}
Handlers table_handlers() {
  return {table, table};
}
Handlers call_handlers() {
  return {call, call};
}
Handlers return_handlers() {
  return {leave_function, leave_function};
}
Handlers exit_handlers() {
  return {exit_lanes, exit_lanes};
}
Handlers enter_handlers() {
  return {enter, enter};
}
Handlers negate_handlers() {
  return {negate, negate};
}
Handlers refresh_handlers() {
  return {refresh, refresh};
}

const Op* run_guarded(Warp& warp, const Op* op) {
  return guarded(warp, op, false);
}
const Op* run_guarded_masked(Warp& warp, const Op* op) {
  return guarded(warp, op, true);
}

}  // namespace gpuforge::sim
