#include "gpuforge/sim/race_clocks.h"

#include <algorithm>
#include <bit>

namespace gpuforge::sim {

namespace {

constexpr std::uint32_t kMostLeaves = 64;

bool covers(Mask mask, Mask live) {
  return (live & ~mask) == 0;
}

template <class Visit>
void each_lane(Mask mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(std::countr_zero(mask));
}

std::shared_ptr<const ClockPart> merge(const ClockPart& a, const ClockPart& b) {
  auto result = std::make_shared<ClockPart>();
  result->block = a.block;
  result->warps = a.warps.size() >= b.warps.size() ? a.warps : b.warps;
  const std::vector<Stamp>& shorter = a.warps.size() >= b.warps.size() ? b.warps : a.warps;
  for (std::size_t i = 0; i < shorter.size(); ++i) result->warps[i] = std::max(result->warps[i], shorter[i]);
  const auto keep = [&](std::uint32_t thread, Stamp stamp) {
    if (thread / kLanes >= result->warps.size() || result->warps[thread / kLanes] < stamp)
      result->threads.emplace_back(thread, stamp);
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

Knowledge::Parts merge(const Knowledge::Parts& a, const Knowledge::Parts& b) {
  Knowledge::Parts result;
  result.reserve(a.size() + b.size());
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (j == b.size() || (i < a.size() && a[i]->block < b[j]->block))
      result.push_back(a[i++]);
    else if (i == a.size() || b[j]->block < a[i]->block)
      result.push_back(b[j++]);
    else {
      result.push_back(a[i] == b[j] ? a[i] : merge(*a[i], *b[j]));
      ++i;
      ++j;
    }
  }
  return result;
}

}  // namespace

Stamp ClockPart::stamp(std::uint32_t thread) const {
  const Stamp base = thread / kLanes < warps.size() ? warps[thread / kLanes] : 0;
  const auto found = std::lower_bound(threads.begin(), threads.end(), std::pair(thread, Stamp{0}));
  return found != threads.end() && found->first == thread ? std::max(base, found->second) : base;
}

Knowledge::Knowledge(KnowledgePtr first, KnowledgePtr second)
    : first_(std::move(first)), second_(std::move(second)), leaves_(first_->leaves() + second_->leaves()) {
  if (leaves_ > kMostLeaves) parts();  // bounds the depth, and lets the halves go
}

void Knowledge::collect(std::vector<const Knowledge*>& into) const {
  if (flat_) {
    into.push_back(this);
    return;
  }
  first_->collect(into);
  second_->collect(into);
}

const Knowledge::Parts& Knowledge::parts() const {
  if (!flat_) {
    std::vector<const Knowledge*> found;
    collect(found);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    // Small ones first, so that a long list is copied once and not once for each.
    std::stable_sort(found.begin(), found.end(),
                     [](const auto* a, const auto* b) { return a->parts_.size() < b->parts_.size(); });
    for (const Knowledge* one : found) parts_ = merge(parts_, one->parts_);
    flat_ = true;
    first_ = nullptr;
    second_ = nullptr;
  }
  return parts_;
}

const ClockPart* Knowledge::part(std::uint32_t block) const {
  const Parts& all = parts();
  const auto found = std::lower_bound(
      all.begin(), all.end(), block,
      [](const std::shared_ptr<const ClockPart>& one, std::uint32_t wanted) { return one->block < wanted; });
  return found != all.end() && (*found)->block == block ? found->get() : nullptr;
}

Stamp Knowledge::stamp(std::uint32_t block, std::uint32_t thread) const {
  const ClockPart* found = part(block);
  return found != nullptr ? found->stamp(thread) : 0;
}

KnowledgePtr join(KnowledgePtr first, KnowledgePtr second) {
  if (first == nullptr) return second;
  if (second == nullptr || first->holds(second.get())) return first;
  if (second->holds(first.get())) return second;
  return std::make_shared<const Knowledge>(std::move(first), std::move(second));
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
  const auto others = [&](const KnowledgePtr& what) {
    return what != nullptr && std::any_of(what->parts().begin(), what->parts().end(),
                                          [&](const auto& part) { return part->block != serial_; });
  };
  return others(clock.common) ||
         (clock.lanes != nullptr && others(clock.lanes->more[static_cast<std::size_t>(lane)]));
}

KnowledgePtr BlockClocks::leaf(std::vector<Stamp> warps,
                               std::vector<std::pair<std::uint32_t, Stamp>> threads) const {
  auto part = std::make_shared<ClockPart>();
  part->block = serial_;
  part->warps = std::move(warps);
  part->threads = std::move(threads);
  return std::make_shared<const Knowledge>(Knowledge::Parts{std::move(part)});
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
  if (clock.common != nullptr && clock.common->holds(what.get())) return;
  ++clock.version;
  clock.common = join(clock.common, what);
  if (const ClockPart* part = what->part(serial_)) raise(warp, *part);
}

void BlockClocks::learn(std::uint32_t warp, int lane, const KnowledgePtr& what) {
  if (what == nullptr) return;
  Lanes& own = lanes(warp);
  KnowledgePtr& more = own.more[static_cast<std::size_t>(lane)];
  if (more != nullptr && more->holds(what.get())) return;
  ++warps_[warp].version;
  more = join(more, what);
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
  if (what == nullptr || (at != nullptr && at->holds(what.get()))) return false;
  ++warps_[warp].version;
  at = join(at, what);
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
