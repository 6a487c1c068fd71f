// Instructions by which the lanes of a warp tell each other something.
#include <bit>

#include "gpuforge/sim/block.h"
#include "gpuforge/sim/converge.h"
#include "gpuforge/sim/fragments.h"
#include "gpuforge/sim/marks.h"
#include "gpuforge/sim/races.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

// Marks of what the lanes tell each other, before the results overwrite it.
Mask told_marks(const Warp& warp, const Op* op) {
  return warp.tracking ? marked_sources(warp, op) : 0;
}

const Op* done(Warp& warp, const Op* op, Mask votes, Mask marks) {
  if (warp.tracking) spread_vote(warp, op, warp.block->launch->image->sites[op->site].spread, votes, marks);
  return op + 1;
}

enum class Shuffle { up, down, bfly, idx };

struct ShuffleFrom {
  int lane;
  bool inside;  // the source is in range: the predicate's value
};

template <Shuffle kind>
ShuffleFrom shuffle_source(int lane, std::uint32_t b, std::uint32_t c) {
  const int value = static_cast<int>(b & 31);
  const int clamp = static_cast<int>(c & 31);
  const int segment = static_cast<int>(c >> 8 & 31);
  const int highest = (lane & segment) | (clamp & ~segment);
  const int lowest = lane & segment;
  int from = 0;
  bool inside = false;
  if constexpr (kind == Shuffle::up) {
    from = lane - value;
    inside = from >= highest;
  } else if constexpr (kind == Shuffle::down) {
    from = lane + value;
    inside = from <= highest;
  } else if constexpr (kind == Shuffle::bfly) {
    from = lane ^ value;
    inside = from <= highest;
  } else {
    from = lowest | (value & ~segment);
    inside = from <= highest;
  }
  return {inside ? from : lane, inside};
}

// Slots: d, p, a, b, c [, membermask].
template <Shuffle kind, bool sync>
const Op* shuffle(Warp& warp, const Op* op) {
  if (sync && !converge_sync(warp, op, op->operand[5])) return take_next(warp);
  auto* to = row<std::uint32_t>(warp, op->operand[0]);
  const auto* from = row<std::uint32_t>(warp, op->operand[2]);
  const auto* b = row<std::uint32_t>(warp, op->operand[3]);
  const auto* c = row<std::uint32_t>(warp, op->operand[4]);
  std::uint32_t results[kLanes];
  Mask inside = 0;
  Mask undefined = 0;  // reads of lanes that do not take part
  Mask marked = 0;
  const Mask source_marks = warp.tracking ? marks_of(warp, op->operand[2]) : 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const ShuffleFrom source = shuffle_source<kind>(lane, b[lane], c[lane]);
    results[lane] = from[source.lane];
    inside |= static_cast<Mask>(source.inside) << lane;
    undefined |= (~warp.active >> source.lane & 1u) << lane;
    marked |= (source_marks >> source.lane & 1u) << lane;
  }
  undefined &= warp.active;
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    to[lane] = (undefined >> lane & 1u) != 0 ? 0 : results[lane];
  }
  Mask& flag = predicate(warp, op->operand[1]);
  flag = (flag & ~warp.active) | (inside & warp.active);
  if (undefined != 0 && warp.block->launch->checks.initialized) start_tracking(warp);
  if (warp.tracking) {
    const Mask choice_marks = marks_of(warp, op->operand[3]) | marks_of(warp, op->operand[4]);
    Mask& marks = marks_of(warp, op->operand[0]);
    marks = (marks & ~warp.active) | ((marked | undefined | choice_marks) & warp.active);
    Mask& flag_marks = marks_of(warp, op->operand[1]);
    flag_marks = (flag_marks & ~warp.active) | (choice_marks & warp.active);
  }
  return op + 1;
}

template <Shuffle kind>
Handlers shuffle_handlers(const Match& match) {
  if (match.has("sync")) return {shuffle<kind, true>, shuffle<kind, true>};
  return {shuffle<kind, false>, shuffle<kind, false>};
}
Handlers bind_shuffle(const Match& match) {
  if (match.has("up")) return shuffle_handlers<Shuffle::up>(match);
  if (match.has("down")) return shuffle_handlers<Shuffle::down>(match);
  if (match.has("bfly")) return shuffle_handlers<Shuffle::bfly>(match);
  return shuffle_handlers<Shuffle::idx>(match);
}

enum class Vote { all, any, uni, ballot };

// Slots: d, a [, membermask].
template <Vote kind, bool sync>
const Op* vote(Warp& warp, const Op* op) {
  if (sync && !converge_sync(warp, op, op->operand[2])) return take_next(warp);
  const Mask votes = predicate(warp, op->operand[1]) & warp.active;
  const Mask marks = told_marks(warp, op);
  if constexpr (kind == Vote::ballot) {
    auto* to = row<std::uint32_t>(warp, op->operand[0]);
    for (Mask left = warp.active; left != 0; left &= left - 1) to[std::countr_zero(left)] = votes;
    return done(warp, op, votes, marks);
  }
  bool result = votes != 0;
  if (kind == Vote::all) result = votes == warp.active;
  if (kind == Vote::uni) result = votes == 0 || votes == warp.active;
  Mask& to = predicate(warp, op->operand[0]);
  to = (to & ~warp.active) | (result ? warp.active : 0u);
  return done(warp, op, votes, marks);
}

template <Vote kind>
Handlers vote_handlers(const Match& match) {
  if (match.has("sync")) return {vote<kind, true>, vote<kind, true>};
  return {vote<kind, false>, vote<kind, false>};
}
Handlers bind_vote(const Match& match) {
  if (match.has("all")) return vote_handlers<Vote::all>(match);
  if (match.has("any")) return vote_handlers<Vote::any>(match);
  if (match.has("uni")) return vote_handlers<Vote::uni>(match);
  return vote_handlers<Vote::ballot>(match);
}

// Slots: any: d, a, membermask; all: d, p, a, membermask.
template <class T, bool all>
const Op* match_lanes(Warp& warp, const Op* op) {
  constexpr std::size_t source = all ? 2 : 1;
  if (!converge_sync(warp, op, op->operand[source + 1])) return take_next(warp);
  const Mask marks = told_marks(warp, op);
  T values[kLanes];
  std::memcpy(values, row<T>(warp, op->operand[source]), sizeof(values));
  auto* to = row<std::uint32_t>(warp, op->operand[0]);
  bool everywhere = true;
  const T first = values[std::countr_zero(warp.active)];
  for (Mask left = warp.active; left != 0; left &= left - 1)
    everywhere &= values[std::countr_zero(left)] == first;
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    Mask same = 0;
    for (Mask other = warp.active; other != 0; other &= other - 1)
      if (values[std::countr_zero(other)] == values[lane]) same |= other & (~other + 1);
    to[lane] = all ? (everywhere ? warp.active : 0u) : same;
  }
  if constexpr (all) {
    Mask& flag = predicate(warp, op->operand[1]);
    flag = (flag & ~warp.active) | (everywhere ? warp.active : 0u);
  }
  return done(warp, op, 0, marks);
}
Handlers bind_match_any(const Match& match) {
  if (match.type == Type::b64) return {match_lanes<std::uint64_t, false>, match_lanes<std::uint64_t, false>};
  return {match_lanes<std::uint32_t, false>, match_lanes<std::uint32_t, false>};
}
Handlers bind_match_all(const Match& match) {
  if (match.type == Type::b64) return {match_lanes<std::uint64_t, true>, match_lanes<std::uint64_t, true>};
  return {match_lanes<std::uint32_t, true>, match_lanes<std::uint32_t, true>};
}

template <class T, class F>
const Op* reduce(Warp& warp, const Op* op) {
  if (!converge_sync(warp, op, op->operand[2])) return take_next(warp);
  const Mask marks = told_marks(warp, op);
  const auto* from = row<T>(warp, op->operand[1]);
  T result = from[std::countr_zero(warp.active)];
  for (Mask left = warp.active & (warp.active - 1); left != 0; left &= left - 1)
    result = F::apply(result, from[std::countr_zero(left)]);
  auto* to = row<T>(warp, op->operand[0]);
  for (Mask left = warp.active; left != 0; left &= left - 1) to[std::countr_zero(left)] = result;
  return done(warp, op, 0, marks);
}
struct Sum {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) { return a + b; }
};
struct And {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) { return a & b; }
};
struct Or {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) { return a | b; }
};
struct Xor {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) { return a ^ b; }
};
template <class T>
struct Least {
  static T apply(T a, T b) { return a < b ? a : b; }
};
template <class T>
struct Most {
  static T apply(T a, T b) { return a > b ? a : b; }
};

// redux.f32: -0 is less than +0; NaNs are skipped, or win with .NaN; .abs compares magnitudes.
template <bool most, bool absolute, bool keep_nan>
struct FloatExtreme {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    if (absolute) {
      a &= 0x7fffffffu;
      b &= 0x7fffffffu;
    }
    const bool nan_a = (a & 0x7fffffffu) > 0x7f800000u;
    const bool nan_b = (b & 0x7fffffffu) > 0x7f800000u;
    if (nan_a && nan_b) return 0x7fffffffu;
    if (nan_a || nan_b) return keep_nan ? 0x7fffffffu : nan_a ? b : a;
    const auto key = [](std::uint32_t bits) {
      return static_cast<std::int64_t>((bits >> 31) != 0 ? -static_cast<std::int64_t>(bits & 0x7fffffffu) - 1
                                                         : static_cast<std::int64_t>(bits));
    };
    return (key(a) > key(b)) == most ? a : b;
  }
};

template <class T, class F>
Handlers reduction() {
  return {reduce<T, F>, reduce<T, F>};
}

Handlers bind_reduction(const Match& match) {
  if (match.has("add")) return reduction<std::uint32_t, Sum>();
  if (match.has("and")) return reduction<std::uint32_t, And>();
  if (match.has("or")) return reduction<std::uint32_t, Or>();
  if (match.has("xor")) return reduction<std::uint32_t, Xor>();
  const bool is_signed = match.type == Type::s32;
  if (match.has("min"))
    return is_signed ? reduction<std::int32_t, Least<std::int32_t>>()
                     : reduction<std::uint32_t, Least<std::uint32_t>>();
  return is_signed ? reduction<std::int32_t, Most<std::int32_t>>()
                   : reduction<std::uint32_t, Most<std::uint32_t>>();
}
template <bool most, bool absolute>
Handlers float_reduction(const Match& match) {
  if (match.has("NaN")) return reduction<std::uint32_t, FloatExtreme<most, absolute, true>>();
  return reduction<std::uint32_t, FloatExtreme<most, absolute, false>>();
}
Handlers bind_float_reduction(const Match& match) {
  const bool absolute = match.has("abs");
  if (match.has("max"))
    return absolute ? float_reduction<true, true>(match) : float_reduction<true, false>(match);
  return absolute ? float_reduction<false, true>(match) : float_reduction<false, false>(match);
}

const Op* active_mask(Warp& warp, const Op* op) {
  auto* to = row<std::uint32_t>(warp, op->operand[0]);
  for (Mask left = warp.active; left != 0; left &= left - 1) to[std::countr_zero(left)] = warp.active;
  return done(warp, op, 0, 0);
}
Handlers bind_active_mask(const Match&) {
  return {active_mask, active_mask};
}

// Slots: d, p, membermask. The lowest lane of the mask is elected.
const Op* elect(Warp& warp, const Op* op) {
  if (!converge_sync(warp, op, op->operand[2])) return take_next(warp);
  const Mask marks = told_marks(warp, op);
  const int leader = std::countr_zero(warp.active);
  auto* to = row<std::uint32_t>(warp, op->operand[0]);
  for (Mask left = warp.active; left != 0; left &= left - 1)
    to[std::countr_zero(left)] = static_cast<std::uint32_t>(leader);
  Mask& flag = predicate(warp, op->operand[1]);
  flag = (flag & ~warp.active) | (Mask{1} << leader);
  return done(warp, op, 0, marks);
}
Handlers bind_elect(const Match&) {
  return {elect, elect};
}

const Op* warp_barrier(Warp& warp, const Op* op) {
  const Mask before = warp.active;
  if (!converge_sync(warp, op, op->operand[0])) return take_next(warp);
  RaceDetector* const races = warp.block->launch->races;
  const Mask wanted = row<std::uint32_t>(warp, op->operand[0])[std::countr_zero(before)];
  if (races != nullptr) races->warp_sync(warp, (wanted & warp.live) | warp.active);
  return op + 1;
}
Handlers bind_warp_barrier(const Match&) {
  return {warp_barrier, warp_barrier};
}

constexpr OpcodeRow kRows[] = {
    {"shfl.sync(.up|.down|.bfly|.idx).b32 d|p:u32, a:u32, b:u32, c:u32, e:u32", OpClass::warp, bind_shuffle},
    {"shfl(.up|.down|.bfly|.idx).b32 d|p:u32, a:u32, b:u32, c:u32", OpClass::warp, bind_shuffle,
     "before sm_70 only: lanes that are not together read each other's last values"},
    {"vote.sync(.all|.any|.uni).pred p, a:pred, b:u32", OpClass::warp, bind_vote},
    {"vote.sync.ballot.b32 d:u32, a:pred, b:u32", OpClass::warp, bind_vote},
    {"vote(.all|.any|.uni).pred p, a:pred", OpClass::warp, bind_vote},
    {"vote.ballot.b32 d:u32, a:pred", OpClass::warp, bind_vote},
    {"match.any.sync(.b32|.b64) d:u32, a:t, b:u32", OpClass::warp, bind_match_any},
    {"match.all.sync(.b32|.b64) d|p:u32, a:t, b:u32", OpClass::warp, bind_match_all},
    {"redux.sync(.add|.min|.max)(.u32|.s32) d:t, a:t, b:u32", OpClass::warp, bind_reduction},
    {"redux.sync(.and|.or|.xor).b32 d:t, a:t, b:u32", OpClass::warp, bind_reduction},
    {"redux.sync(.min|.max)[.abs][.NaN].f32 d:t, a:t, b:u32", OpClass::warp, bind_float_reduction},
    {"activemask.b32 d:u32", OpClass::warp, bind_active_mask},
    {"elect.sync d|p:u32, a:u32", OpClass::warp, bind_elect},
    {"bar.warp.sync a:u32", OpClass::warp, bind_warp_barrier},
};

}  // namespace

std::span<const OpcodeRow> warp_rows() {
  return kRows;
}

}  // namespace gpuforge::sim
