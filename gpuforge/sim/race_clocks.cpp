#include "gpuforge/sim/race_clocks.h"

#include <algorithm>
#include <bit>

namespace gpuforge::sim {

namespace {

bool covers(Mask mask, Mask live) {
  return (live & ~mask) == 0;
}

template <class Visit>
void each_lane(Mask mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(std::countr_zero(mask));
}

bool has_all(const ClockPart& part, const ClockPart& of) {
  for (std::size_t i = 0; i < of.warps.size(); ++i)
    if (of.warps[i] > (i < part.warps.size() ? part.warps[i] : 0)) return false;
  return std::all_of(of.threads.begin(), of.threads.end(),
                     [&](const auto& one) { return part.stamp(one.first) >= one.second; });
}

ClockPart merge(const ClockPart& a, const ClockPart& b) {
  ClockPart result;
  result.block = a.block;
  result.warps = a.warps.size() >= b.warps.size() ? a.warps : b.warps;
  const std::vector<Stamp>& shorter = a.warps.size() >= b.warps.size() ? b.warps : a.warps;
  for (std::size_t i = 0; i < shorter.size(); ++i) result.warps[i] = std::max(result.warps[i], shorter[i]);
  const auto keep = [&](std::uint32_t thread, Stamp stamp) {
    if (thread / kLanes >= result.warps.size() || result.warps[thread / kLanes] < stamp)
      result.threads.emplace_back(thread, stamp);
  };
  std::size_t i = 0, j = 0;
  while (i < a.threads.size() || j < b.threads.size()) {
    if (j == b.threads.size() || (i < a.threads.size() && a.threads[i].first < b.threads[j].first)) {
      keep(a.threads[i].first, a.threads[i].second);
      ++i;
    } else if (i == a.threads.size() || b.threads[j].first < a.threads[i].first) {
      keep(b.threads[j].first, b.threads[j].second);
      ++j;
    } else {
      keep(a.threads[i].first, std::max(a.threads[i].second, b.threads[j].second));
      ++i;
      ++j;
    }
  }
  return result;
}

// The bits above `bit`, or all for a leaf.
std::uint32_t upper(std::uint32_t number, std::uint32_t bit) {
  return bit == 0 ? number : number & ~(2 * bit - 1);
}

}  // namespace

Stamp ClockPart::stamp(std::uint32_t thread) const {
  const Stamp base = thread / kLanes < warps.size() ? warps[thread / kLanes] : 0;
  const auto found = std::lower_bound(threads.begin(), threads.end(), std::pair(thread, Stamp{0}));
  return found != threads.end() && found->first == thread ? std::max(base, found->second) : base;
}

bool Knowledge::above(std::uint32_t block) const {
  return bit_ != 0 && upper(block, bit_) == prefix_;
}

const ClockPart* Knowledge::part(std::uint32_t block) const {
  const Knowledge* at = this;
  while (at->bit_ != 0) at = (block & at->bit_) != 0 ? at->high_.get() : at->low_.get();
  return at->prefix_ == block ? &at->part_ : nullptr;
}

Stamp Knowledge::stamp(std::uint32_t block, std::uint32_t thread) const {
  const ClockPart* found = part(block);
  return found != nullptr ? found->stamp(thread) : 0;
}

KnowledgePtr join(const KnowledgePtr& first, const KnowledgePtr& second) {
  if (first == nullptr || second == nullptr || first == second) return first != nullptr ? first : second;
  const Knowledge &a = *first, &b = *second;
  if (a.prefix_ == b.prefix_ && a.bit_ == b.bit_) {
    if (a.bit_ == 0) {
      if (has_all(a.part_, b.part_)) return first;
      if (has_all(b.part_, a.part_)) return second;
      return std::make_shared<const Knowledge>(merge(a.part_, b.part_));
    }
    KnowledgePtr low = join(a.low_, b.low_), high = join(a.high_, b.high_);
    if (low == a.low_ && high == a.high_) return first;
    if (low == b.low_ && high == b.high_) return second;
    return std::make_shared<const Knowledge>(a.prefix_, a.bit_, std::move(low), std::move(high));
  }
  if (b.bit_ > a.bit_ && b.above(a.prefix_)) return join(second, first);
  if (a.bit_ > b.bit_ && a.above(b.prefix_)) {
    const bool up = (b.prefix_ & a.bit_) != 0;
    KnowledgePtr low = up ? a.low_ : join(a.low_, second), high = up ? join(a.high_, second) : a.high_;
    if (low == a.low_ && high == a.high_) return first;
    return std::make_shared<const Knowledge>(a.prefix_, a.bit_, std::move(low), std::move(high));
  }
  const std::uint32_t bit = std::bit_floor(a.prefix_ ^ b.prefix_);
  const bool up = (a.prefix_ & bit) != 0;
  return std::make_shared<const Knowledge>(upper(a.prefix_, bit), bit, up ? second : first,
                                           up ? first : second);
}

void BlockClocks::Phase::clear(std::size_t warps) {
  known.assign(warps, 0);
  more = nullptr;
  flow = {};
  arrived.assign(warps, 0);
  whole.assign(warps, 0);
  first.assign(warps, 0);
}

void BlockClocks::start(std::uint32_t serial, std::uint32_t warps, Stamp& now) {
  serial_ = serial;
  exact_ = false;
  // Whatever is older than the block counts as known: shadows need no clearing between blocks.
  known_.assign(std::size_t{warps} * warps, now);
  if (warps_.size() != warps) {
    warps_.clear();
    warps_.resize(warps);
    for (auto& barrier : barriers_) barrier = nullptr;
  }
  count_ = warps;
  for (WarpClock& warp : warps_) {
    if (warp.rare) {
      warp.rare = false;
      warp.common = nullptr;
      warp.mark = {};
      warp.flow = {};
      warp.lanes = nullptr;
    }
    warp.all_known = now;
    warp.last_access = now;
    warp.last_event = now;
    ++warp.version;
    warp.phase = {};
    warp.left = {};
  }
  for (auto& barrier : barriers_)
    if (barrier != nullptr) {
      barrier->now = 0;
      for (Phase& phase : barrier->phases) phase.clear(warps);
    }
  ++now;
}

BlockClocks::Lanes& BlockClocks::lanes(std::uint32_t warp) {
  WarpClock& clock = warps_[warp];
  clock.rare = true;
  if (clock.lanes == nullptr) clock.lanes = std::make_unique<Lanes>();
  return *clock.lanes;
}

void BlockClocks::refresh(std::uint32_t warp) {
  const Stamp* known = row(warp);
  Stamp least = known[0];
  for (std::size_t i = 1; i < count_; ++i) least = std::min(least, known[i]);
  warps_[warp].all_known = least;
}

bool BlockClocks::knows(std::uint32_t warp, int lane, std::uint32_t block, std::uint32_t thread,
                        Stamp stamp) const {
  const auto index = static_cast<std::size_t>(lane);
  const WarpClock& clock = warps_[warp];
  if (block == serial_) {
    if (thread == warp * kLanes + index) return true;
    if (stamp <= known_[warp * count_ + thread / kLanes]) return true;
    if (clock.lanes != nullptr && clock.lanes->peers_valid && thread / kLanes == warp &&
        stamp <= clock.lanes->peers[index][thread % kLanes])
      return true;
  }
  if (clock.common != nullptr && stamp <= clock.common->stamp(block, thread)) return true;
  return clock.lanes != nullptr && clock.lanes->more[index] != nullptr &&
         stamp <= clock.lanes->more[index]->stamp(block, thread);
}

bool BlockClocks::knows_other_blocks(std::uint32_t warp, int lane) const {
  const WarpClock& clock = warps_[warp];
  const auto others = [&](const KnowledgePtr& what) { return what != nullptr && !what->only(serial_); };
  return others(clock.common) ||
         (clock.lanes != nullptr && others(clock.lanes->more[static_cast<std::size_t>(lane)]));
}

KnowledgePtr BlockClocks::leaf(std::vector<Stamp> warps,
                               std::vector<std::pair<std::uint32_t, Stamp>> threads) const {
  return std::make_shared<const Knowledge>(ClockPart{serial_, std::move(warps), std::move(threads)});
}

void BlockClocks::raise(std::uint32_t warp, const ClockPart& part) {
  Stamp* known = row(warp);
  for (std::size_t i = 0; i < std::min(count_, part.warps.size()); ++i)
    known[i] = std::max(known[i], part.warps[i]);
  refresh(warp);
}

void BlockClocks::learn_common(std::uint32_t warp, const KnowledgePtr& what) {
  if (what == nullptr) return;
  WarpClock& clock = warps_[warp];
  clock.rare = true;
  if (!keep(warp, clock.common, what)) return;
  if (const ClockPart* part = what->part(serial_)) raise(warp, *part);
}

void BlockClocks::learn(std::uint32_t warp, int lane, const KnowledgePtr& what) {
  if (what == nullptr) return;
  Lanes& own = lanes(warp);
  keep(warp, own.more[static_cast<std::size_t>(lane)], what);
  own.with_more |= Mask{1} << lane;
}

void BlockClocks::Flow::add(const Flow& more) {
  for (std::size_t kind = 0; kind < 2; ++kind) {
    given[kind] = join(given[kind], more.given[kind]);
    taken[kind] = join(taken[kind], more.taken[kind]);
  }
}

bool BlockClocks::Flow::empty() const {
  return given[0] == nullptr && given[1] == nullptr && taken[0] == nullptr && taken[1] == nullptr;
}

bool BlockClocks::Own::empty() const {
  return given[0] == nullptr && given[1] == nullptr && taken[0].empty() && taken[1].empty() && flow.empty();
}

BlockClocks::Own& BlockClocks::own_of(std::uint32_t warp, std::size_t lane) {
  Lanes& all = lanes(warp);
  all.with_own |= Mask{1} << lane;
  return all.own[lane];
}

bool BlockClocks::keep(std::uint32_t warp, KnowledgePtr& at, const KnowledgePtr& what) {
  KnowledgePtr all = join(at, what);
  if (all == at) return false;
  ++warps_[warp].version;
  at = std::move(all);
  return true;
}

void BlockClocks::take(std::uint32_t warp, int lane, const Handed& what, int kind, bool acquires) {
  if (what.empty()) return;
  const auto k = static_cast<std::size_t>(kind);
  Own& own = own_of(warp, static_cast<std::size_t>(lane));
  keep(warp, own.flow.taken[k], what.sc);
  if (what.released == nullptr) return;
  keep(warp, own.taken[k].released, what.released);
  keep(warp, own.taken[k].sc, what.sc);
  if (!acquires) return;
  learn(warp, lane, what.released);
  keep(warp, own.flow.given[k], what.sc);
}

KnowledgePtr BlockClocks::everything(std::uint32_t warp, int lane, Stamp now) const {
  const auto index = static_cast<std::size_t>(lane);
  const WarpClock& clock = warps_[warp];
  std::vector<std::pair<std::uint32_t, Stamp>> threads;
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    if (i == index)
      threads.emplace_back(warp * kLanes + i, now);
    else if (clock.lanes != nullptr && clock.lanes->peers_valid && clock.lanes->peers[index][i] > own(warp))
      threads.emplace_back(warp * kLanes + i, clock.lanes->peers[index][i]);
  }
  const Stamp* from = known(warp);
  KnowledgePtr all = join(leaf({from, from + count_}, std::move(threads)), clock.common);
  return clock.lanes != nullptr ? join(all, clock.lanes->more[index]) : all;
}

KnowledgePtr BlockClocks::marked(std::uint32_t warp, int lane, int kind) const {
  const Mark& mark = warps_[warp].mark[static_cast<std::size_t>(kind)];
  if (((mark.lanes >> lane) & 1u) == 0) return nullptr;
  return join(mark.base, leaf({}, {{warp * kLanes + static_cast<std::uint32_t>(lane), mark.stamp}}));
}

Handed BlockClocks::handed(std::uint32_t warp, int lane, int kind) const {
  const WarpClock& clock = warps_[warp];
  if (!clock.rare) return {};
  const auto k = static_cast<std::size_t>(kind);
  const KnowledgePtr mark = marked(warp, lane, kind);
  Handed all{mark, join(clock.flow.given[k], clock.mark[k].sc ? mark : nullptr)};
  if (clock.lanes == nullptr) return all;
  const Own& own = clock.lanes->own[static_cast<std::size_t>(lane)];
  all.add({own.given[k], own.flow.given[k]});
  return all;
}

// What the lanes of `mask` have together.
BlockClocks::Flow BlockClocks::flow_of(std::uint32_t warp, Mask mask, Mask live) const {
  const WarpClock& clock = warps_[warp];
  Flow all = clock.flow;
  for (int kind = 0; kind < 2; ++kind) {
    const auto k = static_cast<std::size_t>(kind);
    const Mark& mark = clock.mark[k];
    if (!mark.sc) continue;
    if (mark.lanes != 0 && covers(mark.lanes, live) && covers(mask, live)) {
      std::vector<Stamp> warps(warp + 1, 0);
      warps[warp] = mark.stamp;
      all.given[k] = join(all.given[k], join(mark.base, leaf(std::move(warps), {})));
    } else {
      each_lane(mask & mark.lanes,
                [&](int lane) { all.given[k] = join(all.given[k], marked(warp, lane, kind)); });
    }
  }
  if (clock.lanes != nullptr)
    each_lane(mask & clock.lanes->with_own,
              [&](int lane) { all.add(clock.lanes->own[static_cast<std::size_t>(lane)].flow); });
  return all;
}

}  // namespace gpuforge::sim
