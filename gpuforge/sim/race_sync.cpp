// The events of BlockClocks: warp syncs, barriers, fences.
#include <algorithm>
#include <bit>

#include "gpuforge/sim/race_clocks.h"

namespace gpuforge::sim {

namespace {

bool covers(Mask mask, Mask live) {
  return (live & ~mask) == 0;
}

template <class Visit>
void each_lane(Mask mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<std::size_t>(std::countr_zero(mask)));
}

}  // namespace

void BlockClocks::warp_sync(std::uint32_t warp, Mask mask, Mask live, Stamp& now) {
  WarpClock& clock = warps_[warp];
  const Stamp at = now++;
  clock.last_event = at;
  ++clock.version;
  if (covers(mask, live)) {
    row(warp)[warp] = at;
    if (clock.rare) {
      Flow flow = flow_of(warp, live, live);
      if (const Lanes* own = clock.lanes.get())
        each_lane(own->with_more & live, [&](std::size_t lane) { learn_common(warp, own->more[lane]); });
      settle(warp);
      clock.flow = std::move(flow);
    }
    refresh(warp);
    return;
  }
  exact_ = true;
  Lanes& lane_state = lanes(warp);
  if (!lane_state.peers_valid) {
    for (auto& line : lane_state.peers) line.fill(own(warp));
    lane_state.peers_valid = true;
  }
  std::array<Stamp, kLanes> together{};
  KnowledgePtr more;
  each_lane(mask, [&](std::size_t lane) {
    for (std::size_t i = 0; i < kLanes; ++i) together[i] = std::max(together[i], lane_state.peers[lane][i]);
    more = join(more, lane_state.more[lane]);
  });
  const Flow flow = flow_of(warp, mask, live);
  each_lane(mask, [&](std::size_t lane) { together[lane] = at; });
  each_lane(mask, [&](std::size_t lane) {
    lane_state.peers[lane] = together;
    learn(warp, static_cast<int>(lane), more);
  });
  add_flow(warp, mask, flow);
}

void BlockClocks::add_flow(std::uint32_t warp, Mask mask, const Flow& flow) {
  if (flow.empty()) return;
  each_lane(mask, [&](std::size_t lane) {
    Flow& to = own_of(warp, lane).flow;
    for (std::size_t kind = 0; kind < 2; ++kind) {
      keep(warp, to.given[kind], flow.given[kind]);
      keep(warp, to.taken[kind], flow.taken[kind]);
    }
  });
}

// The whole warp has synchronised: what its lanes knew is the warp's, and only what a lane has by itself (its
// last fence, its reads) stays with it.
void BlockClocks::settle(std::uint32_t warp) {
  WarpClock& clock = warps_[warp];
  for (Mark& mark : clock.mark) mark.sc = false;
  clock.flow = {};
  Lanes* const all = clock.lanes.get();
  if (all == nullptr) return;
  each_lane(all->with_own, [&](std::size_t lane) {
    all->own[lane].flow = {};
    if (all->own[lane].empty()) all->with_own &= ~(Mask{1} << lane);
  });
  if (all->with_own == 0) {
    clock.lanes = nullptr;
    return;
  }
  each_lane(all->with_more, [&](std::size_t lane) { all->more[lane] = nullptr; });
  all->with_more = 0;
  all->peers_valid = false;
}

void BlockClocks::arrive(std::uint32_t warp, Mask mask, Mask live, int barrier, Stamp& now) {
  auto& slot = barriers_[static_cast<std::size_t>(barrier)];
  if (slot == nullptr) {
    slot = std::make_unique<Barrier>();
    for (Phase& phase : slot->phases) phase.clear(count_);
  }
  Phase& phase = slot->phases[slot->now % slot->phases.size()];
  WarpClock& clock = warps_[warp];
  clock.phase[static_cast<std::size_t>(barrier)] = slot->now;
  clock.left[static_cast<std::size_t>(barrier)] = 0;
  if (barrier != 0) exact_ = true;
  const Stamp at = now++;
  clock.last_event = at;
  if (phase.arrived[warp] == 0) phase.first[warp] = at;
  phase.arrived[warp] |= mask;
  if (covers(mask, live)) {
    phase.whole[warp] = mask;
    const Stamp* from = known(warp);
    for (std::size_t i = 0; i < count_; ++i) phase.known[i] = std::max(phase.known[i], from[i]);
    phase.known[warp] = at;
    if (!clock.rare) return;
    phase.more = join(phase.more, clock.common);
    if (clock.lanes != nullptr)
      each_lane(mask & clock.lanes->with_more,
                [&](std::size_t lane) { phase.more = join(phase.more, clock.lanes->more[lane]); });
  } else {
    exact_ = true;
    each_lane(mask, [&](std::size_t lane) {
      phase.more = join(phase.more, everything(warp, static_cast<int>(lane), at));
    });
  }
  phase.flow.add(flow_of(warp, mask, live));
}

void BlockClocks::completed(std::span<const Mask> live, int barrier, bool waited_for_all, Stamp& now) {
  auto& slot = barriers_[static_cast<std::size_t>(barrier)];
  if (slot == nullptr) return;
  Phase& phase = slot->phases[slot->now % slot->phases.size()];
  for (std::size_t warp = 0; warp < count_; ++warp) {
    // A barrier of all threads waits for those that have not exited: those that have are behind it.
    if (live[warp] == 0 && waited_for_all)
      phase.known[warp] = now;
    else if (phase.arrived[warp] == 0 || !covers(phase.arrived[warp], live[warp]))
      exact_ = true;
    else if (phase.whole[warp] != 0 && warps_[warp].last_access <= phase.known[warp])
      // It has waited: up to now it did nothing more. So after a barrier of the whole block everything is
      // known, and of accesses that fall together the last one's stamp is enough.
      phase.known[warp] = now;
    else if (phase.whole[warp] == 0)  // in pieces: all of them up to the first arrival, each by itself later
      phase.known[warp] = std::max(phase.known[warp], phase.first[warp]);
  }
  ++now;
  ++slot->now;
  slot->phases[slot->now % slot->phases.size()].clear(count_);
}

void BlockClocks::leave_whole(std::uint32_t warp, const Phase& phase, bool at_once) {
  Stamp* known = row(warp);
  for (std::size_t i = 0; i < count_; ++i) known[i] = std::max(known[i], phase.known[i]);
  refresh(warp);
  WarpClock& clock = warps_[warp];
  if (clock.rare && at_once && phase.whole[warp] != 0) settle(warp);  // the phase has all that its lanes knew
  learn_common(warp, phase.more);
  if (phase.flow.empty()) return;
  clock.rare = true;
  clock.flow.add(phase.flow);
}

void BlockClocks::leave(std::uint32_t warp, Mask mask, Mask live, int barrier) {
  auto& slot = barriers_[static_cast<std::size_t>(barrier)];
  if (slot == nullptr) return;
  WarpClock& clock = warps_[warp];
  const auto index = static_cast<std::size_t>(barrier);
  const Phase& phase = slot->phases[clock.phase[index] % slot->phases.size()];
  Mask& left = clock.left[index];
  left |= mask;
  ++clock.version;
  if (!covers(mask, live)) {
    exact_ = true;
    const KnowledgePtr all = join(leaf(phase.known, {}), phase.more);
    each_lane(mask, [&](std::size_t lane) { learn(warp, static_cast<int>(lane), all); });
    add_flow(warp, mask, phase.flow);
  }
  if (covers(left, live)) leave_whole(warp, phase, covers(mask, live));
}

void BlockClocks::set_mark(std::uint32_t warp, Mask mask, int kind, const KnowledgePtr& base, Stamp now,
                           bool sc) {
  WarpClock& clock = warps_[warp];
  const auto k = static_cast<std::size_t>(kind);
  const Mark old = clock.mark[k];
  // Lanes that have not fenced now keep their last one; all of them what a fence.sc has let flow.
  each_lane(old.lanes & (old.sc && !sc ? kAllLanes : ~mask), [&](std::size_t lane) {
    const KnowledgePtr what = marked(warp, static_cast<int>(lane), kind);
    Own& own = own_of(warp, lane);
    if (((mask >> lane) & 1u) == 0) keep(warp, own.given[k], what);
    if (old.sc) keep(warp, own.flow.given[k], what);
  });
  clock.mark[k] = {base, now, mask, sc};
  Lanes* const all = clock.lanes.get();
  if (all == nullptr) return;
  each_lane(mask & all->with_own, [&](std::size_t lane) {
    Own& own = all->own[lane];
    own.given[k] = nullptr;
    if (sc) own.flow.given[k] = nullptr;
  });
  // Lanes that know something of their own are told apart from the mark at once.
  const Mask apart = mask & (all->peers_valid ? kAllLanes : all->with_more);
  clock.mark[k].lanes = mask & ~apart;
  each_lane(apart, [&](std::size_t lane) {
    const KnowledgePtr what = everything(warp, static_cast<int>(lane), now);
    Own& own = own_of(warp, lane);
    own.given[k] = what;
    if (sc) own.flow.given[k] = what;
  });
}

void BlockClocks::acquire(std::uint32_t warp, Mask mask, Mask live, int kind, bool sc) {
  WarpClock& clock = warps_[warp];
  const auto k = static_cast<std::size_t>(kind);
  if (sc) {
    if (covers(mask, live))
      learn_common(warp, clock.flow.taken[k]);
    else
      each_lane(mask, [&](std::size_t lane) { learn(warp, static_cast<int>(lane), clock.flow.taken[k]); });
  }
  Lanes* const all = clock.lanes.get();
  if (all == nullptr) return;
  each_lane(mask & all->with_own, [&](std::size_t lane) {
    Own& own = all->own[lane];
    learn(warp, static_cast<int>(lane), own.taken[k].released);
    keep(warp, own.flow.given[k], own.taken[k].sc);
    own.taken[k] = {};
    if (!sc) return;
    learn(warp, static_cast<int>(lane), own.flow.taken[k]);
    own.flow.taken[k] = nullptr;
  });
}

KnowledgePtr BlockClocks::give(std::uint32_t warp, Mask mask, Mask live, Stamp& now) {
  WarpClock& clock = warps_[warp];
  exact_ = true;
  ++clock.version;
  const Stamp at = now++;
  clock.last_event = at;
  KnowledgePtr all;
  if (!covers(mask, live)) {
    each_lane(mask, [&](std::size_t lane) { all = join(all, everything(warp, static_cast<int>(lane), at)); });
    return all;
  }
  std::vector<Stamp> stamps(known(warp), known(warp) + count_);
  stamps[warp] = at;
  all = join(leaf(std::move(stamps), {}), clock.common);
  if (clock.lanes != nullptr)
    each_lane(mask & clock.lanes->with_more,
              [&](std::size_t lane) { all = join(all, clock.lanes->more[lane]); });
  return all;
}

void BlockClocks::take(std::uint32_t warp, Mask mask, Mask live, const KnowledgePtr& what) {
  if (what == nullptr) return;
  exact_ = true;
  if (covers(mask, live)) return learn_common(warp, what);
  each_lane(mask, [&](std::size_t lane) { learn(warp, static_cast<int>(lane), what); });
}

void BlockClocks::fence(std::uint32_t warp, Mask mask, Mask live, Fence fence, bool device, Stamp& now) {
  WarpClock& clock = warps_[warp];
  clock.rare = true;
  exact_ = true;
  ++clock.version;
  const int kinds = device ? 2 : 1;
  const bool sc = fence == Fence::sc;
  if (fence != Fence::release)
    for (int kind = 0; kind < kinds; ++kind) acquire(warp, mask, live, kind, sc);
  if (fence == Fence::acquire) return;
  const Stamp at = now++;
  clock.last_event = at;
  const Stamp* from = known(warp);
  const KnowledgePtr base = join(leaf({from, from + count_}, {}), clock.common);
  for (int kind = 0; kind < kinds; ++kind) set_mark(warp, mask, kind, base, at, sc);
}

}  // namespace gpuforge::sim
