#include "gpuforge/sim/converge.h"

#include <bit>
#include <tuple>
#include <vector>

#include "gpuforge/base/format.h"
#include "gpuforge/sim/fragments.h"

namespace gpuforge::sim {
namespace {

constexpr std::uint32_t kSlots = std::tuple_size_v<decltype(Op::operand)>;
constexpr std::uint32_t kSlotBytes = 8 * kLanes;

Code meeting_code() {
  Code code;
  code.name = "meeting";
  code.masks_begin = kSlots * kSlotBytes;
  code.row_marks = code.masks_begin + kSlots * 4;
  code.mask_marks = code.row_marks + code.masks_begin / 128 * 4;
  code.frame_bytes = (code.mask_marks + kSlots * 4 + 63) / 64 * 64;
  return code;
}

// Same instruction, same qualifiers.
bool same_kind(const Op* a, const Op* b) {
  return a->inner.full == b->inner.full;
}

bool waits_with(const Fragment& one, const Op* op, Mask mask) {
  return one.wait == Wait::warp_sync && one.sync_mask == mask && same_kind(one.next, op);
}

bool in_slots(std::uint16_t slots, std::uint32_t slot) {
  return (slots >> slot & 1) != 0;
}

// Copies an operand of `lanes`: 4 or 8 bytes each, or the bits of a predicate.
void copy_operand(Frame& to, std::uint32_t to_offset, Frame& from, std::uint32_t from_offset,
                  std::uint32_t bytes, Mask lanes) {
  std::byte* const target = to.rows.data() + to_offset;
  const std::byte* const source = from.rows.data() + from_offset;
  if (from_offset >= from.code->masks_begin) {
    Mask old = 0, given = 0;
    std::memcpy(&old, target, 4);
    std::memcpy(&given, source, 4);
    old = (old & ~lanes) | (given & lanes);
    std::memcpy(target, &old, 4);
    return;
  }
  for (Mask left = lanes; left != 0; left &= left - 1) {
    const auto at = static_cast<std::size_t>(std::countr_zero(left)) * bytes;
    std::memcpy(target + at, source + at, bytes);
  }
}

void copy_marks(Frame& to, std::uint32_t to_offset, Frame& from, std::uint32_t from_offset, Mask lanes) {
  Mask& marks = marks_of(to, to_offset);
  marks = (marks & ~lanes) | (marks_of(from, from_offset) & lanes);
}

// `op` with its operands in the meeting place.
Op moved(const Op& op, const Code& own, const Code& meeting) {
  Op result = op;
  for (std::uint32_t slot = 0; slot < kSlots; ++slot)
    if (in_slots(op.sources | op.destinations, slot))
      result.operand[slot] =
          op.operand[slot] >= own.masks_begin ? meeting.masks_begin + slot * 4 : slot * kSlotBytes;
  return result;
}

// Runs `op` once for the running lanes and for those of `others`, which stand at other places: every lane's
// operands come from where it stands, and its results go back there. Then all of them may go on.
void run_together(Warp& warp, const Op* op, std::vector<Fragment> others) {
  auto& place = warp.block->meeting;
  if (place == nullptr) place = std::make_unique<MeetingPlace>(meeting_code());
  Frame& meeting = place->frame;
  const Op together = moved(*op, *warp.frame->code, place->code);
  const int first_source = std::countr_zero(op->sources);
  Fragment running;
  running.next = op;
  running.lanes = warp.active;
  running.frame = warp.frame;
  others.push_back(running);
  Mask all = 0;
  for (const Fragment& one : others) {
    all |= one.lanes;
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
      if (!in_slots(op->sources, slot)) continue;
      const std::uint32_t bytes = static_cast<int>(slot) == first_source ? op->source_bytes : 4;
      copy_operand(meeting, together.operand[slot], *one.frame, one.next->operand[slot], bytes, one.lanes);
      copy_marks(meeting, together.operand[slot], *one.frame, one.next->operand[slot], one.lanes);
    }
  }
  make_active(warp, all, &meeting);
  together.inner.masked(warp, &together);
  for (const Fragment& one : others) {
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
      if (!in_slots(op->destinations, slot)) continue;
      copy_operand(*one.frame, one.next->operand[slot], meeting, together.operand[slot], 4, one.lanes);
      if (warp.tracking)
        copy_marks(*one.frame, one.next->operand[slot], meeting, together.operand[slot], one.lanes);
    }
    make_active(warp, one.lanes, one.frame);
    set_aside(warp, one.next + 1, Wait::ready);
  }
}

// Takes those who wait for the same out of the warp's fragments. Lanes at this very place join the running
// ones.
std::vector<Fragment> take_waiting(Warp& warp, const Op* op, Mask wanted) {
  std::vector<Fragment> elsewhere;
  for (std::size_t i = warp.fragments.size(); i-- > 0;) {
    const Fragment& one = warp.fragments[i];
    if (!waits_with(one, op, wanted)) continue;
    if (one.next == op && one.frame == warp.frame)
      warp.active |= one.lanes;
    else
      elsewhere.push_back(one);
    warp.fragments.erase(warp.fragments.begin() + static_cast<std::ptrdiff_t>(i));
  }
  warp.others = static_cast<std::uint32_t>(warp.fragments.size());
  update_mode(warp);
  return elsewhere;
}

// Of the running lanes those with the first one's mask go on; the others come to this instruction again.
Mask split_by_mask(Warp& warp, const Op* op, const std::uint32_t* masks) {
  const Mask wanted = masks[std::countr_zero(warp.active)];
  Mask same = 0;
  for (Mask left = warp.active; left != 0; left &= left - 1)
    if (masks[std::countr_zero(left)] == wanted) same |= left & (~left + 1);
  if (same == warp.active) return wanted;
  Frame* const frame = warp.frame;
  const bool forced = warp.forced;
  const Mask beside = warp.beside;
  const Mask rest = warp.active & ~same;
  make_active(warp, rest, frame);
  set_aside(warp, op, Wait::ready);
  warp.fragments.back().beside = beside | same;
  make_active(warp, same, frame);
  warp.forced = forced;
  warp.beside = beside | rest;
  return wanted;
}

// Lanes that this instruction's mask names came to it at the same time, with another mask, and have exited:
// only that lets it run.
void report_exited_beside(Warp& warp, const Op* op, Mask lanes, Mask wanted, Mask exited) {
  if (Finding* finding = report(warp, op, FindingKind::warp_sync, std::countr_zero(lanes), false))
    finding->message = format_text(
        "lanes 0x{:x} of warp {} wait for the lanes of mask 0x{:x}; lanes 0x{:x} ran this instruction with "
        "another mask and exited",
        lanes, warp.index, wanted, exited);
}

}  // namespace

bool converge_aligned(Warp& warp, const Op* op) {
  const bool forced = warp.forced;
  warp.forced = false;
  if (warp.active == warp.live || forced) return true;
  set_aside(warp, op, Wait::converge);
  return false;
}

bool converge_sync(Warp& warp, const Op* op, std::uint32_t mask_operand) {
  const Mask wanted = split_by_mask(warp, op, row<std::uint32_t>(warp, mask_operand));
  const Mask unnamed = warp.active & ~wanted;
  if (unnamed != 0) {
    if (Finding* finding = report(warp, op, FindingKind::warp_sync, std::countr_zero(unnamed), false))
      finding->message = format_text(
          "lanes 0x{:x} run this instruction, but its mask 0x{:x} does not name them", unnamed, wanted);
  }
  const bool forced = warp.forced;
  const Mask beside = warp.beside;
  warp.forced = false;
  warp.beside = 0;
  if (const Mask exited = beside & wanted & warp.existing & ~warp.live; exited != 0)
    report_exited_beside(warp, op, warp.active, wanted, exited);
  const Mask missing = wanted & warp.live & ~warp.active;
  if (missing == 0) return true;
  Mask waiting = 0;
  for (const Fragment& one : warp.fragments)
    if (waits_with(one, op, wanted)) waiting |= one.lanes;
  if ((missing & ~waiting) != 0 && !forced) {
    set_aside(warp, op, Wait::warp_sync, wanted);
    warp.fragments.back().beside = beside & wanted;
    return false;
  }
  if (waiting == 0) return true;
  std::vector<Fragment> elsewhere = take_waiting(warp, op, wanted);
  if (elsewhere.empty()) return true;
  run_together(warp, op, std::move(elsewhere));
  return false;
}

bool join_converging(Warp& warp) {
  for (std::size_t i = 0; i < warp.fragments.size(); ++i) {
    if (warp.fragments[i].wait != Wait::converge) continue;
    for (std::size_t j = warp.fragments.size(); j-- > i + 1;) {
      const Fragment& other = warp.fragments[j];
      if (other.wait != Wait::converge || other.next != warp.fragments[i].next ||
          other.frame != warp.fragments[i].frame)
        continue;
      warp.fragments[i].lanes |= other.lanes;
      warp.fragments.erase(warp.fragments.begin() + static_cast<std::ptrdiff_t>(j));
    }
    warp.others = static_cast<std::uint32_t>(warp.fragments.size());
    if (warp.fragments[i].lanes == warp.live) {
      warp.fragments[i].wait = Wait::ready;
      return true;
    }
  }
  return false;
}

Mask gathered(const Warp& warp, const Fragment& fragment) {
  Mask lanes = 0;
  for (const Fragment& one : warp.fragments)
    if (waits_with(one, fragment.next, fragment.sync_mask)) lanes |= one.lanes;
  return lanes;
}

void stop_waiting_for(Warp& warp, Mask lanes) {
  for (Fragment& one : warp.fragments) {
    if (one.wait != Wait::warp_sync) continue;
    if (const Mask exited = one.beside & lanes; exited != 0) {
      warp.frame = one.frame;
      report_exited_beside(warp, one.next, one.lanes, one.sync_mask, exited);
      one.beside &= ~lanes;
    }
    if ((one.sync_mask & warp.live & ~gathered(warp, one)) == 0) one.wait = Wait::ready;
  }
}

}  // namespace gpuforge::sim
