#include "gpuforge/sim/fragments.h"

#include <algorithm>

#include "gpuforge/sim/block_state.h"

namespace gpuforge::sim {
namespace {

// Blocks a fragment may enter while another is ready to run. Long, so that loops of different length end
// together; short where a lane may be waiting for one that never gets a turn.
constexpr std::uint32_t kTurnBlocks = 1024 * 1024;
constexpr std::uint32_t kWaitingTurnBlocks = 256;

constexpr std::ptrdiff_t kMostParts = 3;  // ready ones beside the one that runs

void remove(Warp& warp, std::size_t index) {
  warp.fragments.erase(warp.fragments.begin() + static_cast<std::ptrdiff_t>(index));
  warp.others = static_cast<std::uint32_t>(warp.fragments.size());
}

const Op* take(Warp& warp, std::size_t index) {
  const Fragment fragment = warp.fragments[index];
  remove(warp, index);
  warp.forced = fragment.forced;
  warp.beside = fragment.beside;
  warp.timed_out = fragment.timed_out;
  warp.turn = 0;
  make_active(warp, fragment.lanes, fragment.frame);
  return fragment.next;
}

const Op* part(Warp& warp, const Op* op) {
  const std::uint64_t seed = warp.block->launch->schedule_seed;
  if (seed == 0) [[likely]]
    return op + 1;
  // Not ever more parts: lanes that poll would come apart into single ones.
  const auto ready = std::count_if(warp.fragments.begin(), warp.fragments.end(),
                                   [](const Fragment& one) { return one.wait == Wait::ready; });
  if (ready >= kMostParts) return op + 1;
  const std::uint64_t random =
      mix(seed ^ mix(warp.block->linear_index * kLanes + warp.index) ^ mix(++warp.parted));
  const Mask ahead = warp.active & static_cast<Mask>(random);
  const bool together = (random >> 63) != 0;  // half of the time
  if (together || ahead == 0 || ahead == warp.active) return op + 1;
  Frame* const frame = warp.frame;
  make_active(warp, warp.active & ~ahead, frame);
  set_aside(warp, op + 1, Wait::ready);
  make_active(warp, ahead, frame);
  return op + 1;
}

}  // namespace

Handlers part_handlers() {
  return {part, part};
}

bool stands_before(const Frame* frame_a, const Op* a, const Frame* frame_b, const Op* b) {
  if (frame_a == frame_b) return a < b;
  if (frame_a->depth != frame_b->depth) return frame_a->depth > frame_b->depth;
  return frame_a->serial < frame_b->serial;
}

void update_mode(Warp& warp) {
  const bool partial = warp.active != warp.live;
  if (partial) set_lane_mask(warp);
  warp.mode = warp.tracking ? Mode::tracked : partial ? Mode::masked : Mode::full;
}

void make_active(Warp& warp, Mask lanes, Frame* frame) {
  warp.active = lanes;
  warp.frame = frame;
  warp.rows = frame->rows.data();
  update_mode(warp);
}

void set_aside(Warp& warp, const Op* next, Wait wait, Mask sync_mask, std::uint8_t barrier) {
  Fragment fragment;
  fragment.next = next;
  fragment.lanes = warp.active;
  fragment.frame = warp.frame;
  fragment.wait = wait;
  fragment.sync_mask = sync_mask;
  fragment.barrier = barrier;
  fragment.last_run = warp.clock;
  warp.fragments.push_back(fragment);
  warp.others = static_cast<std::uint32_t>(warp.fragments.size());
}

const Op* take_next(Warp& warp) {
  // Those at one place go on together.
  std::size_t best = warp.fragments.size();
  for (std::size_t i = 0; i < warp.fragments.size(); ++i) {
    const Fragment& one = warp.fragments[i];
    if (one.wait != Wait::ready) continue;
    if (best == warp.fragments.size() ||
        stands_before(one.frame, one.next, warp.fragments[best].frame, warp.fragments[best].next))
      best = i;
  }
  warp.sticky = false;
  if (best == warp.fragments.size()) {
    warp.active = 0;
    return nullptr;
  }
  const Fragment chosen = warp.fragments[best];
  for (std::size_t i = warp.fragments.size(); i-- > 0;) {
    Fragment& one = warp.fragments[i];
    if (i == best || one.wait != Wait::ready || one.frame != chosen.frame || one.next != chosen.next ||
        one.forced != chosen.forced)
      continue;
    warp.fragments[best].lanes |= one.lanes;
    warp.fragments[best].beside |= one.beside;
    remove(warp, i);
    if (i < best) --best;
  }
  return take(warp, best);
}

const Op* meet(Warp& warp, const Op* op) {
  bool met = false;
  for (std::size_t i = warp.fragments.size(); i-- > 0;) {
    const Fragment& one = warp.fragments[i];
    if (one.wait != Wait::ready) continue;
    if (one.frame == warp.frame && one.next == op) {
      warp.active |= one.lanes;
      met = true;
      remove(warp, i);
    }
  }
  std::size_t first = warp.fragments.size();   // ready, and standing before this place
  std::size_t oldest = warp.fragments.size();  // ready, and longest without a turn
  for (std::size_t i = 0; i < warp.fragments.size(); ++i) {
    const Fragment& one = warp.fragments[i];
    if (one.wait != Wait::ready) continue;
    const auto better = [&](std::size_t than) {
      return than == warp.fragments.size() ||
             stands_before(one.frame, one.next, warp.fragments[than].frame, warp.fragments[than].next);
    };
    if (stands_before(one.frame, one.next, warp.frame, op) && better(first)) first = i;
    if (oldest == warp.fragments.size() || one.last_run < warp.fragments[oldest].last_run) oldest = i;
  }
  if (met) update_mode(warp);
  if (oldest == warp.fragments.size()) {
    warp.sticky = false;
    return op;
  }
  std::size_t chosen = warp.sticky ? warp.fragments.size() : first;
  const bool may_wait = warp.block->launch->image->lanes_may_wait;
  if (++warp.turn > (may_wait ? kWaitingTurnBlocks : kTurnBlocks)) {
    chosen = oldest;
    warp.sticky = true;
    warp.turn = 0;
  } else if (chosen == warp.fragments.size()) {
    return op;
  } else {
    warp.sticky = false;
  }
  set_aside(warp, op, Wait::ready);
  const bool sticky = warp.sticky;
  const std::uint32_t turn = warp.turn;
  const Op* const next = take(warp, chosen);
  warp.sticky = sticky;
  warp.turn = sticky ? 0 : turn;
  return next;
}

}  // namespace gpuforge::sim
