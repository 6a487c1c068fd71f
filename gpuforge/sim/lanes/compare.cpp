// setp, selp, slct, testp; set is in set.cpp.
#include <optional>
#include <span>

#include "gpuforge/sim/lanes/comparison.h"
#include "gpuforge/sim/lanes/elementwise.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

enum class Kind { bits, unsigned_integer, signed_integer, floating };

Kind kind_of(Type type) {
  switch (type) {
    case Type::b16:
    case Type::b32:
    case Type::b64:
      return Kind::bits;
    case Type::u16:
    case Type::u32:
    case Type::u64:
      return Kind::unsigned_integer;
    case Type::s16:
    case Type::s32:
    case Type::s64:
      return Kind::signed_integer;
    default:
      return Kind::floating;
  }
}

struct NamedComparison {
  std::string_view name;
  Comparison comparison;
};
constexpr NamedComparison kInteger[] = {{"eq", {Relation::eq, false}}, {"ne", {Relation::eq, true}},
                                        {"lt", {Relation::lt, false}}, {"le", {Relation::gt, true}},
                                        {"gt", {Relation::gt, false}}, {"ge", {Relation::lt, true}}};
constexpr NamedComparison kUnsignedOnly[] = {{"lo", {Relation::lt, false}},
                                             {"ls", {Relation::gt, true}},
                                             {"hi", {Relation::gt, false}},
                                             {"hs", {Relation::lt, true}}};
constexpr NamedComparison kFloating[] = {
    {"eq", {Relation::eq, false}},   {"ne", {Relation::ne, false}}, {"lt", {Relation::lt, false}},
    {"le", {Relation::le, false}},   {"gt", {Relation::gt, false}}, {"ge", {Relation::ge, false}},
    {"equ", {Relation::ne, true}},   {"neu", {Relation::eq, true}}, {"ltu", {Relation::ge, true}},
    {"leu", {Relation::gt, true}},   {"gtu", {Relation::le, true}}, {"geu", {Relation::lt, true}},
    {"num", {Relation::num, false}}, {"nan", {Relation::num, true}}};

std::optional<Comparison> find(std::string_view name, std::span<const NamedComparison> table) {
  for (const NamedComparison& one : table)
    if (one.name == name) return one.comparison;
  return std::nullopt;
}

std::optional<Comparison> find_comparison(std::string_view name, Kind kind) {
  if (kind == Kind::floating) return find(name, kFloating);
  if (kind == Kind::bits && name != "eq" && name != "ne") return std::nullopt;
  if (const auto found = find(name, kInteger)) return found;
  return kind == Kind::unsigned_integer ? find(name, kUnsignedOnly) : std::nullopt;
}

// One handler for both modes: the blend of a mask costs less than a second copy of everything.
template <class Source, Relation kRelation, bool kNegated, Combine kCombine>
const Op* setp(Warp& warp, const Op* op) {
  const Mask c = kCombine == Combine::none ? 0 : predicate(warp, op->operand[4]);
  Mask p = 0;
  Mask q = 0;
  if constexpr (IsPair<Source>) {
    p = compared<typename Source::Low, kRelation>(warp, op, 2);
    q = compared<typename Source::High, kRelation>(warp, op, 2);
    if constexpr (kNegated) q = ~q;
  } else {
    p = compared<Source, kRelation>(warp, op, 2);
    q = kNegated ? p : ~p;
  }
  if constexpr (kNegated) p = ~p;
  write_predicate(warp, op->operand[0], combined<kCombine>(p, c));
  write_predicate(warp, op->operand[1], combined<kCombine>(q, c));
  return op + 1;
}

Handlers bind_setp(const Match& match) {
  const ComparisonForm form = comparison_form(match);
  if (!form.valid) return {};
  return for_source(match.type, form.flush, [&]<class Source>() {
    return for_comparison<Source>(form.comparison, [&]<Relation kRelation, bool kNegated>() {
      return for_combine(form.combine, []<Combine kCombine>() -> Handlers {
        constexpr Handler handler = setp<Source, kRelation, kNegated, kCombine>;
        return {handler, handler};
      });
    });
  });
}

// The mask of a predicate, a lane at a time, in a form that becomes vectors.
template <class T, bool kMasked>
const Op* selp(Warp& warp, const Op* op) {
  auto* d = row<T>(warp, op->operand[0]);
  const auto* a = row<T>(warp, op->operand[1]);
  const auto* b = row<T>(warp, op->operand[2]);
  const T c = predicate(warp, op->operand[3]);
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    const T value = (c & kLaneBits<T>.bit[lane]) != 0 ? a[lane] : b[lane];
    d[lane] = !kMasked || warp.lane_mask[lane] != 0 ? value : d[lane];
  }
  return op + 1;
}
Handlers bind_selp(const Match& match) {
  if (bits(match.type) == 64) return {selp<std::uint64_t, false>, selp<std::uint64_t, true>};
  return {selp<std::uint32_t, false>, selp<std::uint32_t, true>};
}

template <class T, class Selector, bool kFlush>
struct Slct {
  using Result = T;
  using A = T;
  using B = T;
  using C = Selector;
  static T apply(T a, T b, Selector c) {
    if constexpr (kFlush) return c > -0x1p-126f ? a : b;  // a negative subnormal is zero
    return c >= 0 ? a : b;
  }
};
template <class T>
Handlers slct_of(const Match& match) {
  if (match.type == Type::s32) return ternary<Slct<T, std::int32_t, false>>();
  return match.has("ftz") ? ternary<Slct<T, float, true>>() : ternary<Slct<T, float, false>>();
}
Handlers bind_slct(const Match& match) {
  return bits(match.other_type) == 64 ? slct_of<std::uint64_t>(match) : slct_of<std::uint32_t>(match);
}

enum class Property { finite, infinite, number, notanumber, normal, subnormal };
// Zero is normal, by the manual.
template <class T, Property kProperty>
bool has_property(T value) {
  constexpr int mantissa = sizeof(T) == 8 ? 52 : 23;
  constexpr T infinity = (static_cast<T>(~T{0}) >> 1) >> mantissa << mantissa;
  const T magnitude = value & (static_cast<T>(~T{0}) >> 1);
  const bool subnormal = magnitude != 0 && magnitude < T{1} << mantissa;
  switch (kProperty) {
    case Property::finite:
      return magnitude < infinity;
    case Property::infinite:
      return magnitude == infinity;
    case Property::number:
      return magnitude <= infinity;
    case Property::notanumber:
      return magnitude > infinity;
    case Property::normal:
      return magnitude < infinity && !subnormal;
    case Property::subnormal:
      return subnormal;
  }
}
template <class T, Property kProperty>
const Op* testp(Warp& warp, const Op* op) {
  const auto* a = row<T>(warp, op->operand[1]);
  alignas(64) std::int32_t flags[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) flags[lane] = has_property<T, kProperty>(a[lane]) ? -1 : 0;
  write_predicate(warp, op->operand[0], mask_of(flags));
  return op + 1;
}
template <Property kProperty>
Handlers bind_testp(const Match& match) {
  const Handler handler =
      match.type == Type::f64 ? testp<std::uint64_t, kProperty> : testp<std::uint32_t, kProperty>;
  return {handler, handler};
}

constexpr OpcodeRow kRows[] = {
    {"setp(.eq|.ne|.lt|.le|.gt|.ge|.lo|.ls|.hi|.hs)"
     "(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64) p|q, a:t, b:t",
     OpClass::comparison, bind_setp},
    {"setp(.eq|.ne|.lt|.le|.gt|.ge|.lo|.ls|.hi|.hs)(.and|.or|.xor)"
     "(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64) p|q, a:t, b:t, c:pred",
     OpClass::comparison, bind_setp},
    {"setp(.eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan)[.ftz]"
     "(.f16|.f16x2|.bf16|.bf16x2|.f32|.f64) p|q, a:t, b:t",
     OpClass::comparison, bind_setp, "For f16x2 and bf16x2, p is of the low halves and q of the high ones."},
    {"setp(.eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan)(.and|.or|.xor)[.ftz]"
     "(.f16|.f16x2|.bf16|.bf16x2|.f32|.f64) p|q, a:t, b:t, c:pred",
     OpClass::comparison, bind_setp},
    {"set(.eq|.ne|.lt|.le|.gt|.ge|.lo|.ls|.hi|.hs)(.u32|.s32|.f32|.f16|.bf16)"
     "(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64) d:s, a:t, b:t",
     OpClass::comparison, bind_set},
    {"set(.eq|.ne|.lt|.le|.gt|.ge|.lo|.ls|.hi|.hs)(.and|.or|.xor)(.u32|.s32|.f32|.f16|.bf16)"
     "(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64) d:s, a:t, b:t, c:pred",
     OpClass::comparison, bind_set},
    {"set(.eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan)[.ftz]"
     "(.u16|.s16|.u32|.s32|.f32|.f16|.bf16|.f16x2|.bf16x2)"
     "(.f16|.f16x2|.bf16|.bf16x2|.f32|.f64) d:s, a:t, b:t",
     OpClass::comparison, bind_set},
    {"set(.eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan)(.and|.or|.xor)[.ftz]"
     "(.u16|.s16|.u32|.s32|.f32|.f16|.bf16|.f16x2|.bf16x2)"
     "(.f16|.f16x2|.bf16|.bf16x2|.f32|.f64) d:s, a:t, b:t, c:pred",
     OpClass::comparison, bind_set},
    {"selp(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64) d:t, a:t, b:t, c:pred",
     OpClass::comparison, bind_selp},
    {"slct(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64).s32 d:s, a:s, b:s, c:t",
     OpClass::comparison, bind_slct},
    {"slct[.ftz](.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64).f32 d:s, a:s, b:s, c:t",
     OpClass::comparison, bind_slct},
    {"testp.finite(.f32|.f64) p, a:t", OpClass::comparison, bind_testp<Property::finite>},
    {"testp.infinite(.f32|.f64) p, a:t", OpClass::comparison, bind_testp<Property::infinite>},
    {"testp.number(.f32|.f64) p, a:t", OpClass::comparison, bind_testp<Property::number>},
    {"testp.notanumber(.f32|.f64) p, a:t", OpClass::comparison, bind_testp<Property::notanumber>},
    {"testp.normal(.f32|.f64) p, a:t", OpClass::comparison, bind_testp<Property::normal>},
    {"testp.subnormal(.f32|.f64) p, a:t", OpClass::comparison, bind_testp<Property::subnormal>},
};

}  // namespace

ComparisonForm comparison_form(const Match& match) {
  ComparisonForm form;
  std::optional<Comparison> comparison;
  for (const std::string_view word : match.modifiers)
    if (!comparison) comparison = find_comparison(word, kind_of(match.type));
  form.flush = match.has("ftz");
  const bool can_flush = match.type == Type::f32 || match.type == Type::f16 || match.type == Type::f16x2;
  if (!comparison || (form.flush && !can_flush)) return form;
  form.comparison = *comparison;
  if (match.has("and")) form.combine = Combine::with_and;
  if (match.has("or")) form.combine = Combine::with_or;
  if (match.has("xor")) form.combine = Combine::with_xor;
  form.valid = true;
  return form;
}

std::span<const OpcodeRow> compare_rows() {
  return kRows;
}

}  // namespace gpuforge::sim
