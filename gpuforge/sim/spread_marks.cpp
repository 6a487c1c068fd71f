// Marks through one instruction, lane by lane, by the rules of spread.h.
#include <array>
#include <bit>

#include "gpuforge/sim/marks.h"
#include "gpuforge/sim/written.h"

namespace gpuforge::sim {
namespace {

template <class F>
void for_slots(std::uint16_t slots, F visit) {
  for (unsigned left = slots; left != 0; left &= left - 1)
    visit(static_cast<std::size_t>(std::countr_zero(left)));
}

void set_marks(const Warp& warp, std::uint32_t offset, Mask lanes, Mask marked) {
  Mask& marks = marks_of(warp, offset);
  marks = (marks & ~lanes) | (marked & lanes);
}

PartlyWritten lane_bits(const Warp& warp, std::uint32_t offset, int lane, unsigned bits) {
  const bool wide = bits > 32;
  const std::uint64_t value =
      wide ? row<std::uint64_t>(warp, offset)[lane] : row<std::uint32_t>(warp, offset)[lane];
  return {value & low_bits(bits), unwritten_bits(*warp.frame, offset, lane, wide, bits)};
}

// Whether a field is set in a word: bits of one source are put beside those of another.
bool sets_field(const SpreadRule& rule) {
  return rule.kind == Spread::insert || (rule.kind == Spread::logic && rule.table == 0xfc);
}

// Where the marked ones of a lane's sources came from, when a result is made of their bits.
Origin joined_origin(const Warp& warp, const Op* op, const SpreadRule& rule, int lane) {
  Origin all{false, true};
  bool merged = false;
  for_slots(op->sources, [&](std::size_t slot) {
    const std::uint32_t offset = op->operand[slot];
    if (offset == kNoOperand || offset >= warp.frame->code->masks_begin) return;
    if ((marks_of(warp, offset) >> lane & 1) == 0) {
      merged = merged || (sets_field(rule) && slot <= rule.data);  // slot 0 is the result
      return;
    }
    const Origin one = origin_of(*warp.frame, offset, lane);
    all.computed |= one.computed;
    all.beside &= one.beside;
  });
  all.beside |= merged;
  return all;
}

// One destination, bit by bit; gives the lanes that stay marked.
Mask spread_bits(const Warp& warp, const Op* op, const SpreadRule& rule, Mask marked) {
  Mask result = 0;
  const bool wide = op->register_bytes == 8;
  const auto first = static_cast<std::size_t>(std::countr_zero(unsigned{op->sources}));
  const auto count = static_cast<std::size_t>(std::popcount(unsigned{op->sources}));
  const bool from_wide = rule.kind == Spread::convert && op->source_bytes == 8;
  for (Mask left = marked; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    std::array<PartlyWritten, 8> sources;
    for (std::size_t i = 0; i < count; ++i) {
      const unsigned bits = i >= rule.data ? 32u : rule.kind == Spread::pack ? rule.result_bits : rule.bits;
      sources[i] = lane_bits(warp, op->operand[first + i], lane, from_wide ? 64u : bits);
    }
    const std::uint64_t unwritten =
        unwritten_result(rule, std::span(sources).first(count), op->immediate) & low_bits(wide ? 64 : 32);
    if (unwritten == 0) continue;
    result |= Mask{1} << lane;
    const Origin origin = rule.copies() ? joined_origin(warp, op, rule, lane) : Origin{true, false};
    set_detail(*warp.frame, op->operand[0], lane, wide, unwritten, origin);
  }
  return result;
}

Mask spread_select(const Warp& warp, const Op* op, const SpreadRule& rule, Mask marked) {
  const Mask choice = marks_of(warp, op->operand[3]);
  Mask result = 0;
  const bool wide = rule.bits > 32;
  for (Mask left = marked; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const Mask bit = Mask{1} << lane;
    const std::uint32_t taken = op->operand[(predicate(warp, op->operand[3]) & bit) != 0 ? 1 : 2];
    const std::uint64_t unwritten =
        (choice & bit) != 0 ? low_bits(64) : unwritten_bits(*warp.frame, taken, lane, wide, rule.bits);
    if (unwritten == 0) continue;
    result |= bit;
    const Origin origin = (choice & bit) != 0 ? Origin{true, false} : origin_of(*warp.frame, taken, lane);
    set_detail(*warp.frame, op->operand[0], lane, wide, unwritten, origin);
  }
  return result;
}

void spread_unpacked(const Warp& warp, const Op* op, const SpreadRule& rule, Mask lanes, Mask marked) {
  const std::uint32_t from = op->operand[op->count];
  std::array<Mask, 8> results{};
  for (Mask left = marked; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const std::uint64_t whole = lane_bits(warp, from, lane, rule.bits).unwritten;
    const Origin origin = origin_of(*warp.frame, from, lane);
    for (unsigned part = 0; part < op->count; ++part) {
      const std::uint64_t unwritten = whole >> (part * rule.result_bits) & low_bits(rule.result_bits);
      if (unwritten == 0) continue;
      results[part] |= Mask{1} << lane;
      set_detail(*warp.frame, op->operand[part], lane, rule.result_bits > 32, unwritten, origin);
    }
  }
  for (unsigned part = 0; part < op->count; ++part) set_marks(warp, op->operand[part], lanes, results[part]);
}

// Lanes in which neither side decides alone. `and_`: false decides, else true.
Mask undecided(Mask a, Mask a_marks, Mask b, Mask b_marks, bool and_) {
  const Mask a_decides = (and_ ? ~a : a) & ~a_marks;
  const Mask b_decides = (and_ ? ~b : b) & ~b_marks;
  return (a_marks | b_marks) & ~a_decides & ~b_decides;
}

// Slots p, q, a, b [, c].
void spread_comparison(const Warp& warp, const Op* op, const SpreadRule& rule, Mask lanes) {
  const std::uint32_t a = op->operand[2], b = op->operand[3];
  Mask compared = marks_of(warp, a) | marks_of(warp, b);
  if (rule.kind == Spread::compare_equal)
    for (Mask left = compared & lanes; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      if (!equality_unwritten(lane_bits(warp, a, lane, rule.bits), lane_bits(warp, b, lane, rule.bits)))
        compared &= ~(Mask{1} << lane);
    }
  const std::uint32_t c = op->operand[4];
  if ((op->sources >> 4 & 1) != 0 && c != kNoOperand) {
    const Mask marks = marks_of(warp, c);
    const Mask value = predicate(warp, c);
    if (rule.combined == Spread::predicate_and || rule.combined == Spread::predicate_or) {
      const bool and_ = rule.combined == Spread::predicate_and;
      const Mask decides = (and_ ? ~value : value) & ~marks;
      compared &= ~decides;
    }
    compared |= marks;
  }
  set_marks(warp, op->operand[0], lanes, compared);
  set_marks(warp, op->operand[1], lanes, compared);
}

}  // namespace

Mask marked_sources(const Warp& warp, const Op* op) {
  Mask marked = 0;
  for_slots(op->sources, [&](std::size_t slot) {
    if (op->operand[slot] != kNoOperand) marked |= marks_of(warp, op->operand[slot]);
  });
  return marked;
}

void set_results(const Warp& warp, const Op* op, Mask lanes, Mask marked) {
  for_slots(op->destinations, [&](std::size_t slot) {
    const std::uint32_t offset = op->operand[slot];
    set_marks(warp, offset, lanes, marked);
    forget_details(*warp.frame, offset, lanes);
    if ((marked & lanes) == 0 || offset >= warp.frame->code->masks_begin) return;
    for (Mask left = marked & lanes; left != 0; left &= left - 1)
      set_detail(*warp.frame, offset, std::countr_zero(left), false, low_bits(32), {true, false});
  });
}

void spread_marks(const Warp& warp, const Op* op, const SpreadRule& rule, Mask lanes) {
  const Mask marked = marked_sources(warp, op) & lanes;
  if (marked == 0) return set_results(warp, op, lanes, 0);
  switch (rule.kind) {
    case Spread::everything:
    case Spread::vote_all:
    case Spread::vote_any:
    case Spread::ballot:
      return set_results(warp, op, lanes, marked);
    case Spread::compare:
    case Spread::compare_equal:
      return spread_comparison(warp, op, rule, lanes);
    case Spread::predicate_and:
    case Spread::predicate_or: {
      const std::uint32_t a = op->operand[1], b = op->operand[2];
      return set_marks(warp, op->operand[0], lanes,
                       undecided(predicate(warp, a), marks_of(warp, a), predicate(warp, b), marks_of(warp, b),
                                 rule.kind == Spread::predicate_and));
    }
    case Spread::unpack:
      return spread_unpacked(warp, op, rule, lanes, marked);
    case Spread::select:
      return set_marks(warp, op->operand[0], lanes, spread_select(warp, op, rule, marked));
    default:
      if (rule.cancels && op->operand[1] == op->operand[2]) return set_results(warp, op, lanes, 0);
      return set_marks(warp, op->operand[0], lanes, spread_bits(warp, op, rule, marked));
  }
}

void spread_vote(const Warp& warp, const Op* op, const SpreadRule& rule, Mask votes, Mask marks) {
  const Mask lanes = warp.active;
  marks &= lanes;
  if (rule.kind == Spread::vote_all && (~votes & ~marks & lanes) != 0) marks = 0;
  if (rule.kind == Spread::vote_any && (votes & ~marks & lanes) != 0) marks = 0;
  set_results(warp, op, lanes, marks != 0 ? lanes : 0);
  if (rule.kind != Spread::ballot || marks == 0) return;
  for (Mask left = lanes; left != 0; left &= left - 1)
    set_detail(*warp.frame, op->operand[0], std::countr_zero(left), false, marks, {true, false});
}

}  // namespace gpuforge::sim
