#include "gpuforge/sim/schedule.h"

#include <algorithm>
#include <bit>

#include "gpuforge/base/format.h"
#include "gpuforge/sim/barrier.h"
#include "gpuforge/sim/cluster.h"
#include "gpuforge/sim/converge.h"
#include "gpuforge/sim/fragments.h"

namespace gpuforge::sim {
namespace {

// Instructions of a turn. Kernels that poll memory wait for others, so they give up their turn early.
constexpr std::int64_t kTurn = 64 * 1024;
constexpr std::int64_t kPollingTurn = 2 * 1024;
// Rounds of a block before other blocks get theirs.
constexpr int kRounds = 64;
constexpr int kPollingRounds = 4;

std::int64_t turn_of(const Launch& launch) {
  return launch.image->polls ? kPollingTurn : kTurn;
}

bool done(const Warp& warp) {
  return warp.next == nullptr && warp.fragments.empty();
}

std::string where(const Launch& launch, std::uint32_t site) {
  const Place place = place_of(launch, site);
  if (place.file.empty()) return format_text("PTX line {} ({})", place.ptx_line, place.instruction);
  const std::size_t slash = place.file.find_last_of('/');
  return format_text("{}:{} ({})", slash == std::string::npos ? place.file : place.file.substr(slash + 1),
                     place.line, place.instruction);
}

// The op a waiting fragment stands at.
const Op* standing_at(const Fragment& fragment) {
  return fragment.wait == Wait::barrier ? fragment.next - 1 : fragment.next;
}

// Lanes wait for lanes of their own warp that will not come: says so and lets the first of them go on. False
// when all wait for other warps.
bool force_one(Warp& warp) {
  Fragment* chosen = nullptr;
  for (Fragment& one : warp.fragments)
    if ((one.wait == Wait::converge || one.wait == Wait::warp_sync) &&
        (chosen == nullptr || stands_before(one.frame, one.next, chosen->frame, chosen->next)))
      chosen = &one;
  if (chosen == nullptr) return false;
  const bool aligned = chosen->wait == Wait::converge;
  const Mask here = aligned ? chosen->lanes : gathered(warp, *chosen);
  const Mask wanted = (aligned ? warp.live : chosen->sync_mask & warp.live) & ~here;
  std::string elsewhere;
  std::uint32_t other_site = kNoSite;
  for (const Fragment& one : warp.fragments) {
    if (&one == chosen || (one.lanes & wanted) == 0) continue;
    if (other_site == kNoSite) other_site = standing_at(one)->site;
    if (!elsewhere.empty()) elsewhere += ", ";
    elsewhere += format_text("lanes 0x{:x} wait at {}", one.lanes & wanted,
                             where(*warp.block->launch, standing_at(one)->site));
  }
  warp.frame = chosen->frame;
  Finding* const finding = report(warp, chosen->next, aligned ? FindingKind::barrier : FindingKind::warp_sync,
                                  std::countr_zero(chosen->lanes), false, other_site);
  if (finding != nullptr)
    finding->message =
        aligned ? format_text("an .aligned instruction is reached by lanes 0x{:x} of warp {} only; {}",
                              chosen->lanes, warp.index, elsewhere)
                : format_text("lanes 0x{:x} of warp {} wait for the lanes of mask 0x{:x}; {}", chosen->lanes,
                              warp.index, chosen->sync_mask, elsewhere);
  chosen->wait = Wait::ready;
  chosen->forced = true;
  return true;
}

bool waits_for_others(const Warp& warp) {
  return std::any_of(warp.fragments.begin(), warp.fragments.end(), [](const Fragment& one) {
    return one.wait == Wait::barrier || one.wait == Wait::cluster || one.wait == Wait::arrivals;
  });
}

bool runnable(const Warp& warp) {
  return warp.next != nullptr || std::any_of(warp.fragments.begin(), warp.fragments.end(),
                                             [](const Fragment& one) { return one.wait == Wait::ready; });
}

// A barrier with a count that threads have exited instead of coming to. False: there is none.
bool report_lost_barrier(Block& block) {
  for (Warp& warp : block.warps)
    for (const Fragment& one : warp.fragments) {
      if (one.wait != Wait::barrier) continue;
      const std::string why = lost_to_exits(block, one.barrier);
      if (why.empty()) continue;
      warp.frame = one.frame;
      const int lane = std::countr_zero(one.lanes);
      if (Finding* finding = report(warp, standing_at(one), FindingKind::barrier, lane, true))
        finding->message = why;
      return true;
    }
  return false;
}

// "warp 0 (lanes 0xffff) at k.cu:7 (bar.sync 0); ...": all that wait; empty when nobody does.
std::string who_waits(const Block& block) {
  std::string all;
  int named = 0;
  for (const Warp& warp : block.warps)
    for (const Fragment& one : warp.fragments) {
      if (one.wait == Wait::ready || ++named > 8) continue;
      if (!all.empty()) all += "; ";
      all += format_text("warp {} (lanes 0x{:x}) at {}", warp.index, one.lanes,
                         where(*block.launch, standing_at(one)->site));
    }
  if (named > 8) all += format_text("; and {} more", named - 8);
  return all;
}

}  // namespace

bool can_go_on(const Block& block) {
  return !block.arrivals.under_way.empty() || std::any_of(block.warps.begin(), block.warps.end(), runnable);
}

bool end_a_wait(Block& block) {
  return time_out(block) ||
         std::any_of(block.warps.begin(), block.warps.end(), [](Warp& warp) { return force_one(warp); });
}

bool report_deadlock(Block& block) {
  if (report_lost_barrier(block)) return true;
  for (Warp& warp : block.warps) {
    if (warp.fragments.empty()) continue;
    const Fragment& first = warp.fragments.front();
    warp.frame = first.frame;
    const int lane = std::countr_zero(first.lanes);
    if (Finding* finding = report(warp, standing_at(first), FindingKind::deadlock, lane, true)) {
      finding->message = format_text("every thread left waits for another: {}", who_waits(block));
      if (const std::string missing = missing_arrivals(block); !missing.empty())
        finding->message += "; " + missing;
    }
    return true;
  }
  return false;
}

bool refuel(Warp& warp, const Op* op) {
  Launch& launch = *warp.block->launch;
  const auto used = static_cast<std::uint64_t>(warp.given - warp.fuel);
  warp.given = warp.fuel = turn_of(launch);
  warp.clock += used;
  if (warp.starting) {  // not a turn yet
    warp.starting = false;
    if (launch.steps_left > 0) return true;
  }
  warp.next = op;
  if (launch.cancel != nullptr && launch.cancel->load(std::memory_order_relaxed)) {
    launch.cancelled = true;
    launch.failed = true;
  } else if (launch.steps_left <= used) {
    if (Finding* finding = report(warp, op, FindingKind::step_limit, std::countr_zero(warp.active), true)) {
      finding->message =
          "the launch ran more instructions than its limit: an endless loop, or a limit too low";
      if (const std::string waiting = who_waits(*warp.block); !waiting.empty())
        finding->message += "; others of the block wait: " + waiting;
    }
  } else {
    launch.steps_left -= used;
  }
  return false;
}

void lanes_exited(Warp& warp, Mask lanes) {
  stop_waiting_for(warp, lanes);
  join_converging(warp);
  complete_barriers(*warp.block);
  complete_cluster_barrier(*warp.block);
}

void charge(Warp& warp) {
  Launch& launch = *warp.block->launch;
  const auto used = static_cast<std::uint64_t>(std::max<std::int64_t>(warp.given - warp.fuel, 0));
  launch.steps_left -= std::min(launch.steps_left, used);
  warp.given = warp.fuel;
}

void run_warp(Warp& warp) {
  const Launch& launch = *warp.block->launch;
  while (!launch.failed) {
    const Op* op = warp.next;
    warp.next = nullptr;
    if (op == nullptr) op = take_next(warp);
    if (op == nullptr) {
      if (warp.fragments.empty() || join_converging(warp)) {
        if (warp.fragments.empty()) return charge(warp);
        continue;
      }
      if (waits_for_others(warp) || !force_one(warp)) return;
      continue;
    }
    while (op != nullptr) op = op->run[static_cast<std::size_t>(warp.mode)](warp, op);
    if (warp.next != nullptr) return;  // its turn is over
  }
}

bool run_block(Block& block, bool may_yield) {
  Launch& launch = *block.launch;
  const int rounds = launch.image->polls ? kPollingRounds : kRounds;
  for (int round = 0; !launch.failed; ++round) {
    bool progress = false;
    bool all_done = true;
    for (const std::uint32_t index : block.order) {
      Warp& warp = block.warps[index];
      if (!runnable(warp)) {
        all_done = all_done && done(warp);
        continue;
      }
      progress = true;
      run_warp(warp);
      all_done = all_done && done(warp);
      if (launch.failed) return true;
    }
    if (all_done) return true;
    if (!progress) {
      if (deliver_one(block)) continue;
      if (block.cluster != nullptr) return false;
      if (!end_a_wait(block)) {
        report_deadlock(block);
        return true;
      }
    }
    if (may_yield && round >= rounds) return false;
  }
  return true;
}

}  // namespace gpuforge::sim
