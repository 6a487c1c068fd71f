// Comparisons of two rows that give a mask of lanes, for setp and set: how values of each type are read into
// vectors that compare as the type does, the relations, and the step from modifiers to template arguments.
#pragma once

#include <cstdint>

#include "gpuforge/sim/lanes/lane_vector.h"
#include "gpuforge/sim/opcode.h"

namespace gpuforge::sim {

// Sources: read(row, lane) gives the values of the lanes from `lane` on as a vector of Element.
template <class T>
struct WholeSource {
  using Element = T;
  using Row = T;
  static VectorOf<T> read(const T* row, int lane) { return load_vector(row, lane); }
};
struct S16Source {  // moved to the top of the word, where order is that of int32
  using Element = std::int32_t;
  using Row = std::int32_t;
  static VectorOf<Element> read(const Row* row, int lane) { return load_vector(row, lane) << 16; }
};
struct F32FlushedSource {
  using Element = float;
  using Row = std::uint32_t;
  static VectorOf<float> read(const Row* row, int lane) {
    const auto bits = load_vector(row, lane);
    return same_bits<float>(bits & same_bits<std::uint32_t>((bits & 0x7f800000u) != 0));
  }
};
// bf16 in the low or high half of a word is the top half of a float.
template <bool kHigh>
struct Bf16Source {
  using Element = float;
  using Row = std::uint32_t;
  static VectorOf<float> read(const Row* row, int lane) {
    const auto word = load_vector(row, lane);
    return same_bits<float>(kHigh ? word & 0xffff0000u : word << 16);
  }
};
// f16 as a float of the same order: its magnitude's bits as a number, signed; NaN stays one.
template <bool kHigh, bool kFlush>
struct F16Source {
  using Element = float;
  using Row = std::int32_t;
  static VectorOf<float> read(const Row* row, int lane) {
    const auto word = load_vector(row, lane);
    const VectorOf<std::int32_t> half = kHigh ? word : word << 16;  // only the top half counts
    auto magnitude = half >> 16 & 0x7fff;
    const auto nan = magnitude > 0x7c00;
    if constexpr (kFlush) magnitude &= magnitude >= 0x0400;
    const auto sign = half >> 31;
    const auto number = __builtin_convertvector((magnitude ^ sign) - sign, VectorOf<float>);
    return same_bits<float>(same_bits<std::int32_t>(number) | nan);
  }
};
// Two values a word: the first predicate is the low half's.
template <class LowHalf, class HighHalf>
struct PairSource {
  using Low = LowHalf;
  using High = HighHalf;
};
template <class Source>
concept IsPair = requires {
  typename Source::Low;
};

// What the negations are made of. `ne` is ordered: false for NaN, as PTX has it.
enum class Relation : std::uint8_t { eq, ne, lt, le, gt, ge, num };
struct Comparison {
  Relation relation = Relation::eq;
  bool negated = false;
};

template <Relation kRelation, class Vector>
auto related(const Vector& a, const Vector& b) {
  if constexpr (kRelation == Relation::eq) return a == b;
  if constexpr (kRelation == Relation::ne) return (a < b) | (a > b);
  if constexpr (kRelation == Relation::lt) return a < b;
  if constexpr (kRelation == Relation::le) return a <= b;
  if constexpr (kRelation == Relation::gt) return a > b;
  if constexpr (kRelation == Relation::ge) return a >= b;
  if constexpr (kRelation == Relation::num) return (a == a) & (b == b);
}

// The operands are in slots first and first + 1.
template <class Source, Relation kRelation>
Mask compared(const Warp& warp, const Op* op, int first) {
  using Row = typename Source::Row;
  const auto* a = row<Row>(warp, op->operand[static_cast<std::size_t>(first)]);
  const auto* b = row<Row>(warp, op->operand[static_cast<std::size_t>(first + 1)]);
  Mask result = 0;
#pragma GCC unroll 16
  for (int lane = 0; lane < kLanes; lane += kVectorLanes<Row>)
    result |= sign_bits(related<kRelation>(Source::read(a, lane), Source::read(b, lane))) << lane;
  return result;
}

enum class Combine : std::uint8_t { none, with_and, with_or, with_xor };
template <Combine kCombine>
Mask combined(Mask value, Mask c) {
  if constexpr (kCombine == Combine::with_and) return value & c;
  if constexpr (kCombine == Combine::with_or) return value | c;
  if constexpr (kCombine == Combine::with_xor) return value ^ c;
  return value;
}

// From the modifiers of setp and set. Absent: PTX has no such comparison of the type.
struct ComparisonForm {
  bool valid = false;
  Comparison comparison;
  Combine combine = Combine::none;
  bool flush = false;
};
ComparisonForm comparison_form(const Match& match);

// choose.template operator()<Source>() for the type compared.
template <class Choose>
Handlers for_source(Type type, bool flush, Choose choose) {
  switch (type) {
    case Type::b16:
    case Type::u16:
    case Type::b32:
    case Type::u32:
      return choose.template operator()<WholeSource<std::uint32_t>>();
    case Type::s16:
      return choose.template operator()<S16Source>();
    case Type::s32:
      return choose.template operator()<WholeSource<std::int32_t>>();
    case Type::b64:
    case Type::u64:
      return choose.template operator()<WholeSource<std::uint64_t>>();
    case Type::s64:
      return choose.template operator()<WholeSource<std::int64_t>>();
    case Type::f32:
      if (flush) return choose.template operator()<F32FlushedSource>();
      return choose.template operator()<WholeSource<float>>();
    case Type::f64:
      return choose.template operator()<WholeSource<double>>();
    case Type::f16:
      if (flush) return choose.template operator()<F16Source<false, true>>();
      return choose.template operator()<F16Source<false, false>>();
    case Type::bf16:
      return choose.template operator()<Bf16Source<false>>();
    case Type::f16x2:
      if (flush)
        return choose.template operator()<PairSource<F16Source<false, true>, F16Source<true, true>>>();
      return choose.template operator()<PairSource<F16Source<false, false>, F16Source<true, false>>>();
    case Type::bf16x2:
      return choose.template operator()<PairSource<Bf16Source<false>, Bf16Source<true>>>();
    default:
      return {};
  }
}

template <class Source>
constexpr bool kComparesFloats = true;
template <class T>
constexpr bool kComparesFloats<WholeSource<T>> = std::is_floating_point_v<T>;
template <>
constexpr bool kComparesFloats<S16Source> = false;

// choose.template operator()<relation, negated>().
template <class Source, class Choose>
Handlers for_comparison(Comparison comparison, Choose choose) {
  const auto negation = [&]<Relation kRelation>() {
    return comparison.negated ? choose.template operator()<kRelation, true>()
                              : choose.template operator()<kRelation, false>();
  };
  switch (comparison.relation) {
    case Relation::eq:
      return negation.template operator()<Relation::eq>();
    case Relation::lt:
      return negation.template operator()<Relation::lt>();
    case Relation::gt:
      return negation.template operator()<Relation::gt>();
    default:
      break;
  }
  // Of integers, the others are negations of these three.
  if constexpr (kComparesFloats<Source>) {
    switch (comparison.relation) {
      case Relation::ne:
        return negation.template operator()<Relation::ne>();
      case Relation::le:
        return negation.template operator()<Relation::le>();
      case Relation::ge:
        return negation.template operator()<Relation::ge>();
      case Relation::num:
        return negation.template operator()<Relation::num>();
      default:
        break;
    }
  }
  return {};
}

// choose.template operator()<combine>().
template <class Choose>
Handlers for_combine(Combine combine, Choose choose) {
  switch (combine) {
    case Combine::none:
      return choose.template operator()<Combine::none>();
    case Combine::with_and:
      return choose.template operator()<Combine::with_and>();
    case Combine::with_or:
      return choose.template operator()<Combine::with_or>();
    case Combine::with_xor:
      return choose.template operator()<Combine::with_xor>();
  }
  return {};
}

Handlers bind_set(const Match& match);  // set.cpp

}  // namespace gpuforge::sim
