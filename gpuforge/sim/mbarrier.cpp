#include "gpuforge/sim/mbarrier.h"

#include <bit>
#include <utility>

#include "gpuforge/base/format.h"
#include "gpuforge/sim/address.h"
#include "gpuforge/sim/block_state.h"
#include "gpuforge/sim/fragments.h"
#include "gpuforge/sim/races.h"
#include "gpuforge/sim/report_lines.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

constexpr std::uint32_t kBytes = 8;                     // of an mbarrier
constexpr std::uint32_t kMostMembers = (1u << 20) - 1;  // and bytes it can expect

// What stands in memory: nobody's business, but told apart from anything written over it.
std::uint64_t word_of(const MBarrier& barrier) {
  return mix(mix(barrier.phase << 20 | barrier.pending) ^ static_cast<std::uint64_t>(barrier.bytes));
}

void put_word(Block& block, std::uint32_t offset, const MBarrier& barrier) {
  const std::uint64_t word = word_of(barrier);
  std::memcpy(block.shared + offset, &word, kBytes);
  set_written(block.shared_initialized, offset, kBytes);
}

// Offsets of all active lanes, checked.
bool find_places(Warp& warp, const Op* op, std::uint64_t (&at)[kLanes]) {
  if (warp.mode == Mode::tracked)
    if (const Mask unwritten = uninitialized_address(warp, op); unwritten != 0)
      report_uninitialized_address(warp, op, std::countr_zero(unwritten), kBytes);
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const Located place = lane_place(warp, op, lane);
    if (place.space != Space::shared) {
      report_wrong(warp, op, FindingKind::barrier, lane,
                   format_text("an mbarrier lies in shared memory, and this address is one of {} memory",
                               space_name(place.space)));
      return false;
    }
    if (place.offset % kBytes != 0) {
      report_misaligned(warp, op, Use::atomic, Space::shared, lane, place.offset, kBytes);
      return false;
    }
    if (place.offset + kBytes > warp.block->launch->shared_bytes) {
      report_outside(warp, op, Use::atomic, Space::shared, lane, place.offset, kBytes);
      return false;
    }
    at[lane] = place.offset;
  }
  return true;
}

// As the race detector sees it: what makes or ends an mbarrier writes its bytes, the rest is atomic.
void tell_races(Warp& warp, const Op* op, const std::uint64_t* at, bool weak, bool writes) {
  if (warp.block->launch->races == nullptr) return;
  warp.block->launch->races->shared(warp, {.address = at,
                                           .lanes = warp.active,
                                           .bytes = kBytes,
                                           .reads = !weak,
                                           .writes = writes,
                                           .order = weak ? Order::weak : Order::relaxed,
                                           .scope = Scope::cta,
                                           .op = op});
}

std::uint32_t number(const Warp& warp, std::uint32_t slot_row, int lane, std::uint32_t absent) {
  return slot_row == kNoOperand ? absent : row<std::uint32_t>(warp, slot_row)[lane];
}

const Op* init(Warp& warp, const Op* op) {
  std::uint64_t at[kLanes];
  if (!find_places(warp, op, at)) return nullptr;
  check_use(warp, op, 0, "how many arrive at an mbarrier");
  tell_races(warp, op, at, true, true);
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const std::uint32_t members = number(warp, op->operand[0], lane, 0);
    if (members == 0 || members > kMostMembers) {
      report_wrong(warp, op, FindingKind::barrier, lane,
                   format_text("an mbarrier is for 1 to {} arrivals, found {}", kMostMembers, members));
      return nullptr;
    }
    const auto offset = static_cast<std::uint32_t>(at[lane]);
    const MBarrier made{.members = members, .pending = members, .site = op->site};
    const auto [there, is_new] = warp.block->arrivals.barriers.try_emplace(offset, made);
    if (!is_new) {
      if (Finding* finding = report(warp, op, FindingKind::barrier, lane, false, there->second.site))
        finding->message = format_text(
            "there is an mbarrier at offset {} already; mbarrier.inval ends it before a new one is made",
            offset);
      there->second = made;
    }
    put_word(*warp.block, offset, there->second);
  }
  return op + 1;
}

const Op* invalidate(Warp& warp, const Op* op) {
  std::uint64_t at[kLanes];
  if (!find_places(warp, op, at)) return nullptr;
  tell_races(warp, op, at, true, true);
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const auto offset = static_cast<std::uint32_t>(at[lane]);
    if (find_mbarrier(warp, op, lane, *warp.block, offset) == nullptr) return nullptr;
    warp.block->arrivals.barriers.erase(offset);
  }
  return op + 1;
}

enum class Arrive { plain, expects, expects_only, drops };

// Slots: [d,] [count or bytes].
template <Arrive how>
const Op* arrive(Warp& warp, const Op* op) {
  std::uint64_t at[kLanes];
  if (!find_places(warp, op, at)) return nullptr;
  constexpr std::size_t kNumber = how == Arrive::expects_only ? 0 : 1;
  check_use(warp, op, static_cast<int>(kNumber), "what an mbarrier waits for");
  tell_races(warp, op, at, false, true);
  Block& block = *warp.block;
  RaceDetector* const races = block.launch->races;
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const auto offset = static_cast<std::uint32_t>(at[lane]);
    MBarrier* const barrier = find_mbarrier(warp, op, lane, block, offset);
    if (barrier == nullptr) return nullptr;
    const std::uint32_t given = number(warp, op->operand[kNumber], lane, 1);
    const bool counts_bytes = how == Arrive::expects || how == Arrive::expects_only;
    if (counts_bytes) barrier->bytes += given;
    if (barrier->bytes > kMostMembers) {
      report_wrong(
          warp, op, FindingKind::barrier, lane,
          format_text("an mbarrier waits for up to {} bytes, found {}", kMostMembers, barrier->bytes));
      return nullptr;
    }
    if constexpr (how != Arrive::expects_only) {
      const std::uint32_t arrivals = counts_bytes ? 1 : given;
      if (arrivals == 0 || arrivals > barrier->pending) {
        report_wrong(
            warp, op, FindingKind::barrier, lane,
            format_text("{} arrivals at the mbarrier at offset {}, whose phase waits for {} more of {}",
                        arrivals, offset, barrier->pending, barrier->members));
        return nullptr;
      }
      row<std::uint64_t>(warp, op->operand[0])[lane] = barrier->phase;
      barrier->pending -= arrivals;
      if (how == Arrive::drops) barrier->leaving += arrivals;
      if (races != nullptr) races->give(warp, Mask{1} << lane, barrier->arriving);
    }
    settle(block, offset, *barrier);
  }
  return op + 1;
}

// Slots: p, state or parity. A wait that may block goes on when the phase of one of its lanes is over.
template <bool parity, bool blocks>
const Op* wait(Warp& warp, const Op* op) {
  std::uint64_t at[kLanes];
  const bool timed_out = std::exchange(warp.timed_out, false);
  if (!find_places(warp, op, at)) return nullptr;
  check_use(warp, op, 1, "which phase is waited for");
  Block& block = *warp.block;
  RaceDetector* const races = block.launch->races;
  Mask over = 0;
  // Lanes whose mbarrier is one learn together what those know who arrived there.
  const MBarrier* of_before = nullptr;
  RaceDetector::Given known_before;
  Mask before = 0;
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const MBarrier* const barrier =
        find_mbarrier(warp, op, lane, block, static_cast<std::uint32_t>(at[lane]));
    if (barrier == nullptr) return nullptr;
    const std::uint64_t which =
        parity ? number(warp, op->operand[1], lane, 0) : row<std::uint64_t>(warp, op->operand[1])[lane];
    const std::uint64_t newest = parity ? 1 : barrier->phase;
    if (which > newest || (!parity && which + 1 < barrier->phase)) {
      report_wrong(warp, op, FindingKind::barrier, lane,
                   parity ? format_text("a phase has parity 0 or 1, found {}", which)
                          : std::string("this is no state of the mbarrier's phase, nor of the one before"));
      return nullptr;
    }
    if (parity ? (barrier->phase & 1) == which : barrier->phase == which) continue;
    const Mask bit = Mask{1} << lane;
    over |= bit;
    if (races != nullptr && barrier != of_before) races->take(warp, std::exchange(before, 0u), known_before);
    of_before = barrier;
    known_before = barrier->arrived;
    before |= bit;
  }
  if (races != nullptr) races->take(warp, before, known_before);
  if (over == 0 && blocks && !timed_out) {
    set_aside(warp, op, Wait::arrivals);
    return take_next(warp);
  }
  tell_races(warp, op, at, false, false);
  if (over != warp.active && !blocks) {  // who asks again and again gives others their turn
    deliver_one(block);
    warp.given -= warp.fuel;
    warp.fuel = 0;
  }
  Mask& result = predicate(warp, op->operand[0]);
  result = (result & ~warp.active) | over;
  return op + 1;
}

constexpr OpcodeRow kRows[] = {
    {"mbarrier.init[.shared|.shared::cta].b64 [m], a:u32", OpClass::barrier, bind_one<init>},
    {"mbarrier.inval[.shared|.shared::cta].b64 [m]", OpClass::barrier, bind_one<invalidate>},
    {"mbarrier.arrive[.release][.cta|.cluster][.shared|.shared::cta].b64 d:u64, [m], ?a:u32",
     OpClass::barrier, bind_one<arrive<Arrive::plain>>},
    {"mbarrier.arrive.noComplete[.release][.cta][.shared|.shared::cta].b64 d:u64, [m], a:u32",
     OpClass::barrier, bind_one<arrive<Arrive::plain>>},
    {"mbarrier.arrive.expect_tx[.release][.cta|.cluster][.shared|.shared::cta].b64 d:u64, [m], a:u32",
     OpClass::barrier, bind_one<arrive<Arrive::expects>>},
    {"mbarrier.arrive_drop[.release][.cta|.cluster][.shared|.shared::cta].b64 d:u64, [m], ?a:u32",
     OpClass::barrier, bind_one<arrive<Arrive::drops>>},
    {"mbarrier.expect_tx[.relaxed][.cta|.cluster][.shared|.shared::cta].b64 [m], a:u32", OpClass::barrier,
     bind_one<arrive<Arrive::expects_only>>},
    {"mbarrier.test_wait[.acquire][.cta|.cluster][.shared|.shared::cta].b64 p, [m], a:u64", OpClass::barrier,
     bind_one<wait<false, false>>},
    {"mbarrier.test_wait.parity[.acquire][.cta|.cluster][.shared|.shared::cta].b64 p, [m], a:u32",
     OpClass::barrier, bind_one<wait<true, false>>},
    {"mbarrier.try_wait[.acquire][.cta|.cluster][.shared|.shared::cta].b64 p, [m], a:u64, ?b:u32",
     OpClass::barrier, bind_one<wait<false, true>>, "the time to wait is not looked at"},
    {"mbarrier.try_wait.parity[.acquire][.cta|.cluster][.shared|.shared::cta].b64 p, [m], a:u32, ?b:u32",
     OpClass::barrier, bind_one<wait<true, true>>, "the time to wait is not looked at"},
};

}  // namespace

std::span<const OpcodeRow> mbarrier_rows() {
  return kRows;
}

void settle(Block& block, std::uint32_t offset, MBarrier& barrier) {
  block.arrivals.timeouts = 0;
  if (barrier.pending == 0 && barrier.bytes == 0) {
    ++barrier.phase;
    barrier.members -= std::exchange(barrier.leaving, 0u);
    barrier.pending = barrier.members;
    if (block.launch->races != nullptr) block.launch->races->pass_on(barrier.arriving, barrier.arrived);
    barrier.arriving = nullptr;
    for (Warp& warp : block.warps)
      for (Fragment& one : warp.fragments)
        if (one.wait == Wait::arrivals) one.wait = Wait::ready;
  }
  put_word(block, offset, barrier);
}

MBarrier* find_mbarrier(Warp& warp, const Op* op, int lane, Block& block, std::uint32_t offset) {
  const auto found = block.arrivals.barriers.find(offset);
  if (found == block.arrivals.barriers.end()) {
    report_wrong(
        warp, op, FindingKind::barrier, lane,
        format_text("there is no mbarrier at offset {} of the shared memory of block {}: no mbarrier.init "
                    "has made one yet",
                    offset, text(block.index)));
    return nullptr;
  }
  std::uint64_t word = 0;
  std::memcpy(&word, block.shared + offset, kBytes);
  if (word == word_of(found->second)) return &found->second;
  report_wrong(
      warp, op, FindingKind::barrier, lane,
      format_text("the mbarrier at offset {} of shared memory is broken: something else was written there",
                  offset));
  return nullptr;
}

}  // namespace gpuforge::sim
