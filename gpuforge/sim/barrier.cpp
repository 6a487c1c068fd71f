#include "gpuforge/sim/barrier.h"

#include <bit>

#include "gpuforge/base/format.h"
#include "gpuforge/sim/converge.h"
#include "gpuforge/sim/fragments.h"
#include "gpuforge/sim/opcode.h"
#include "gpuforge/sim/races.h"
#include "gpuforge/sim/schedule.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

enum class What { sync, arrive, popc, conjunction, disjunction };

bool all_there(const Block& block, const Barrier& barrier) {
  if (barrier.expected != 0) return barrier.threads >= barrier.expected;
  for (const Warp& warp : block.warps)
    if ((warp.live & ~barrier.arrived[warp.index]) != 0) return false;
  return true;
}

std::uint32_t reduction(What what, const Barrier& barrier) {
  if (what == What::popc) return barrier.true_votes;
  if (what == What::conjunction) return barrier.true_votes == barrier.votes ? kAllLanes : 0;
  return barrier.true_votes != 0 ? kAllLanes : 0;
}

template <What what, bool aligned>
const Op* barrier_handler(Warp& warp, const Op* op);

// What a waiting op gives its lanes: a reduction, or nothing (sync).
What what_of(const Op* op) {
  const Handler handler = op->inner.full;
  if (handler == barrier_handler<What::popc, true> || handler == barrier_handler<What::popc, false>)
    return What::popc;
  if (handler == barrier_handler<What::conjunction, true> ||
      handler == barrier_handler<What::conjunction, false>)
    return What::conjunction;
  if (handler == barrier_handler<What::disjunction, true> ||
      handler == barrier_handler<What::disjunction, false>)
    return What::disjunction;
  return What::sync;
}

// Writes a reduction's result for lanes that wait at `op`.
void deliver(Frame& frame, const Op* op, Mask lanes, std::uint32_t value) {
  std::byte* const at = frame.rows.data() + op->operand[0];
  if (what_of(op) == What::popc) {
    for (Mask left = lanes; left != 0; left &= left - 1)
      std::memcpy(at + 4 * std::countr_zero(left), &value, 4);
    return;
  }
  Mask old = 0;
  std::memcpy(&old, at, 4);
  old = (old & ~lanes) | (value & lanes);
  std::memcpy(at, &old, 4);
}

void open_barrier(Block& block, int id) {
  Barrier& barrier = block.barriers[static_cast<std::size_t>(id)];
  RaceDetector* const races = block.launch->races;
  if (races != nullptr) races->barrier_completed(block, id, barrier.expected == 0);
  for (Warp& other : block.warps)
    for (Fragment& one : other.fragments) {
      if (one.wait != Wait::barrier || one.barrier != id) continue;
      one.wait = Wait::ready;
      const Op* const at = one.next - 1;
      if (what_of(at) != What::sync) deliver(*one.frame, at, one.lanes, reduction(what_of(at), barrier));
      if (races != nullptr) races->barrier_leave(other, one.lanes, id);
    }
  barrier = {};
}

// The barrier's number and count; -1 after a finding that ends the launch.
int barrier_number(Warp& warp, const Op* op, std::uint32_t id_row, std::uint32_t count_row,
                   std::uint32_t* expected) {
  const int lane = std::countr_zero(warp.active);
  const std::uint32_t id = row<std::uint32_t>(warp, id_row)[lane];
  *expected = count_row == kNoOperand ? 0 : row<std::uint32_t>(warp, count_row)[lane];
  std::string wrong;
  if (id > 15) wrong = format_text("barrier {} does not exist: a block has barriers 0 to 15", id);
  if (count_row != kNoOperand && (*expected == 0 || *expected % kLanes != 0 || *expected > 1024))
    wrong = format_text(
        "a barrier counts whole warps: a multiple of 32 from 32 to 1024 is expected, found {}", *expected);
  if (wrong.empty()) return static_cast<int>(id);
  if (Finding* finding = report(warp, op, FindingKind::barrier, lane, true)) finding->message = wrong;
  return -1;
}

template <What what, bool aligned>
const Op* barrier_handler(Warp& warp, const Op* op) {
  if (aligned && !converge_aligned(warp, op)) return take_next(warp);
  constexpr bool reduces = what != What::sync && what != What::arrive;
  constexpr std::size_t first = reduces ? 1 : 0;
  // Slots: [d,] barrier, [count,] [predicate].
  const std::uint32_t id_row = op->operand[first];
  std::uint32_t count_row = op->operand[first + 1];
  std::uint32_t vote_mask = 0;
  if constexpr (reduces) {
    if (count_row >= warp.frame->code->masks_begin) {  // no count: the predicate stands there
      vote_mask = predicate(warp, count_row);
      count_row = kNoOperand;
    } else {
      vote_mask = predicate(warp, op->operand[first + 2]);
    }
  }
  std::uint32_t expected = 0;
  const int id = barrier_number(warp, op, id_row, count_row, &expected);
  if (id < 0) return nullptr;
  Block& block = *warp.block;
  Barrier& barrier = block.barriers[static_cast<std::size_t>(id)];
  if (!barrier.open) {
    barrier.open = true;
    barrier.expected = expected;
    barrier.site = op->site;
  } else if (barrier.expected != expected) {
    if (Finding* finding =
            report(warp, op, FindingKind::barrier, std::countr_zero(warp.active), false, barrier.site))
      finding->message =
          format_text("barrier {} is used with {} here and {} by threads that came before", id,
                      expected == 0 ? "all threads" : format_text("{} threads", expected),
                      barrier.expected == 0 ? "all threads" : format_text("{} threads", barrier.expected));
  }
  barrier.arrived[warp.index] |= warp.active;
  barrier.threads += aligned ? kLanes : static_cast<std::uint32_t>(std::popcount(warp.active));
  barrier.votes += static_cast<std::uint32_t>(std::popcount(warp.active));
  barrier.true_votes += static_cast<std::uint32_t>(std::popcount(warp.active & vote_mask));
  RaceDetector* const races = block.launch->races;
  if (races != nullptr) races->barrier_arrive(warp, warp.active, id);
  if (!all_there(block, barrier)) {
    if (what == What::arrive) return op + 1;
    set_aside(warp, op + 1, Wait::barrier, 0, static_cast<std::uint8_t>(id));
    return take_next(warp);
  }
  const std::uint32_t result = reduces ? reduction(what, barrier) : 0;
  if (barrier.expected != 0 && barrier.threads > barrier.expected) {
    if (Finding* finding = report(warp, op, FindingKind::barrier, std::countr_zero(warp.active), false))
      finding->message = format_text("{} threads came to barrier {}, which expects {}", barrier.threads, id,
                                     barrier.expected);
  }
  const Mask lanes = warp.active;
  open_barrier(block, id);
  if (reduces) deliver(*warp.frame, op, lanes, result);
  if (what != What::arrive && races != nullptr) races->barrier_leave(warp, lanes, id);
  return op + 1;
}

template <What what>
Handlers chosen(const Match& match, bool always_aligned) {
  if (always_aligned || match.has("aligned"))
    return {barrier_handler<what, true>, barrier_handler<what, true>};
  return {barrier_handler<what, false>, barrier_handler<what, false>};
}

Handlers bind_barrier(const Match& match, bool always_aligned) {
  if (match.has("sync")) return chosen<What::sync>(match, always_aligned);
  if (match.has("arrive")) return chosen<What::arrive>(match, always_aligned);
  if (match.has("popc")) return chosen<What::popc>(match, always_aligned);
  if (match.has("and")) return chosen<What::conjunction>(match, always_aligned);
  return chosen<What::disjunction>(match, always_aligned);
}
Handlers bind_bar(const Match& match) {
  return bind_barrier(match, true);
}
Handlers bind_unaligned(const Match& match) {
  return bind_barrier(match, false);
}

constexpr OpcodeRow kRows[] = {
    {"bar[.cta].sync a:u32, ?b:u32", OpClass::barrier, bind_bar},
    {"bar[.cta].arrive a:u32, b:u32", OpClass::barrier, bind_bar},
    {"bar[.cta].red.popc.u32 d:u32, a:u32, c:pred", OpClass::barrier, bind_bar},
    {"bar[.cta].red.popc.u32 d:u32, a:u32, b:u32, c:pred", OpClass::barrier, bind_bar},
    {"bar[.cta].red(.and|.or).pred p, a:u32, c:pred", OpClass::barrier, bind_bar},
    {"bar[.cta].red(.and|.or).pred p, a:u32, b:u32, c:pred", OpClass::barrier, bind_bar},
    {"barrier[.cta].sync[.aligned] a:u32, ?b:u32", OpClass::barrier, bind_unaligned},
    {"barrier[.cta].arrive[.aligned] a:u32, b:u32", OpClass::barrier, bind_unaligned},
    {"barrier[.cta].red.popc[.aligned].u32 d:u32, a:u32, c:pred", OpClass::barrier, bind_unaligned},
    {"barrier[.cta].red.popc[.aligned].u32 d:u32, a:u32, b:u32, c:pred", OpClass::barrier, bind_unaligned},
    {"barrier[.cta].red(.and|.or)[.aligned].pred p, a:u32, c:pred", OpClass::barrier, bind_unaligned},
    {"barrier[.cta].red(.and|.or)[.aligned].pred p, a:u32, b:u32, c:pred", OpClass::barrier, bind_unaligned},
};

}  // namespace

std::span<const OpcodeRow> barrier_rows() {
  return kRows;
}

void complete_barriers(Block& block) {
  for (std::size_t id = 0; id < block.barriers.size(); ++id) {
    const Barrier& barrier = block.barriers[id];
    if (barrier.open && barrier.expected == 0 && all_there(block, barrier))
      open_barrier(block, static_cast<int>(id));
  }
}

std::string lost_to_exits(const Block& block, int id) {
  const Barrier& barrier = block.barriers[static_cast<std::size_t>(id)];
  const auto warps = static_cast<std::uint32_t>(block.warps.size());
  if (block.exited_threads == 0 || barrier.expected > warps * kLanes) return {};
  std::uint32_t may_come = barrier.threads;
  for (const Warp& warp : block.warps)
    if ((warp.live & ~barrier.arrived[warp.index]) != 0) may_come += kLanes;
  if (may_come >= barrier.expected) return {};
  return format_text("barrier {} expects {} threads and {} came: {} of the block's {} threads have exited",
                     id, barrier.expected, barrier.threads, block.exited_threads,
                     block.launch->threads_per_block);
}

}  // namespace gpuforge::sim
