// The packed video instructions: four bytes or two halves of a and b at once, each result kept in its place,
// clamped, or all added to c. The forms that choose and mask parts (d.b0, a.b7654) are not here.
#include <algorithm>
#include <functional>
#include <limits>
#include <type_traits>

#include "gpuforge/sim/lanes/elementwise.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

enum class Keep { wrapped, clamped_signed, clamped_unsigned, added };

struct Add {
  static std::int32_t of(std::int32_t a, std::int32_t b) { return a + b; }
};
struct Sub {
  static std::int32_t of(std::int32_t a, std::int32_t b) { return a - b; }
};
struct Average {  // rounded up, and of negative sums towards zero too
  static std::int32_t of(std::int32_t a, std::int32_t b) { return (a + b + (a + b >= 0 ? 1 : 0)) >> 1; }
};
struct AbsoluteDifference {
  static std::int32_t of(std::int32_t a, std::int32_t b) { return a < b ? b - a : a - b; }
};
struct Least {
  static std::int32_t of(std::int32_t a, std::int32_t b) { return std::min(a, b); }
};
struct Most {
  static std::int32_t of(std::int32_t a, std::int32_t b) { return std::max(a, b); }
};
template <class Compare>
struct Test {
  static std::int32_t of(std::int32_t a, std::int32_t b) { return Compare{}(a, b) ? 1 : 0; }
};

template <class F, class PartA, class PartB, Keep keep>
struct Packed {
  using Result = std::uint32_t;
  using A = std::uint32_t;
  using B = std::uint32_t;
  using C = std::uint32_t;
  static Result apply(A a, B b, C c) {
    constexpr int kBits = std::numeric_limits<std::make_unsigned_t<PartA>>::digits;
    constexpr std::int32_t kTop = 1 << (kBits - 1);
    std::uint32_t result = keep == Keep::added ? c : 0;
    for (int shift = 0; shift < 32; shift += kBits) {
      std::int32_t value = F::of(static_cast<PartA>(a >> shift), static_cast<PartB>(b >> shift));
      if (keep == Keep::clamped_signed) value = std::clamp(value, -kTop, kTop - 1);
      if (keep == Keep::clamped_unsigned) value = std::clamp(value, 0, 2 * kTop - 1);
      const auto bits = static_cast<std::uint32_t>(value);
      result += keep == Keep::added ? bits : (bits & (2u * kTop - 1u)) << shift;
    }
    return result;
  }
};

template <class F, class PartA, class PartB>
Handlers with_parts(const Match& match) {
  if (match.has("add")) return ternary<Packed<F, PartA, PartB, Keep::added>>();
  if (!match.has("sat")) return ternary<Packed<F, PartA, PartB, Keep::wrapped>>();
  for (const std::string_view word : match.modifiers) {  // the first type is the destination's
    if (word == "s32") return ternary<Packed<F, PartA, PartB, Keep::clamped_signed>>();
    if (word == "u32") return ternary<Packed<F, PartA, PartB, Keep::clamped_unsigned>>();
  }
  return {};
}
template <class F, class Signed, class Unsigned>
Handlers bind_packed(const Match& match) {
  const bool signed_a = match.other_type == Type::s32;
  if (match.type == Type::s32)
    return signed_a ? with_parts<F, Signed, Signed>(match) : with_parts<F, Unsigned, Signed>(match);
  return signed_a ? with_parts<F, Signed, Unsigned>(match) : with_parts<F, Unsigned, Unsigned>(match);
}
template <class F>
constexpr auto bind_bytes = bind_packed<F, std::int8_t, std::uint8_t>;
template <class F>
constexpr auto bind_halves = bind_packed<F, std::int16_t, std::uint16_t>;

template <class Signed, class Unsigned>
Handlers bind_set(const Match& match) {
  if (match.has("eq")) return bind_packed<Test<std::equal_to<>>, Signed, Unsigned>(match);
  if (match.has("ne")) return bind_packed<Test<std::not_equal_to<>>, Signed, Unsigned>(match);
  if (match.has("lt")) return bind_packed<Test<std::less<>>, Signed, Unsigned>(match);
  if (match.has("le")) return bind_packed<Test<std::less_equal<>>, Signed, Unsigned>(match);
  if (match.has("gt")) return bind_packed<Test<std::greater<>>, Signed, Unsigned>(match);
  return bind_packed<Test<std::greater_equal<>>, Signed, Unsigned>(match);
}

constexpr OpcodeRow kRows[] = {
    {"vadd4(.u32|.s32)(.u32|.s32)(.u32|.s32)[.sat|.add] d:u32, a:u32, b:u32, c:u32", OpClass::integer,
     bind_bytes<Add>, "here and below: c counts with .add alone; no masks and no choice of parts"},
    {"vsub4(.u32|.s32)(.u32|.s32)(.u32|.s32)[.sat|.add] d:u32, a:u32, b:u32, c:u32", OpClass::integer,
     bind_bytes<Sub>},
    {"vavrg4(.u32|.s32)(.u32|.s32)(.u32|.s32)[.sat|.add] d:u32, a:u32, b:u32, c:u32", OpClass::integer,
     bind_bytes<Average>},
    {"vabsdiff4(.u32|.s32)(.u32|.s32)(.u32|.s32)[.sat|.add] d:u32, a:u32, b:u32, c:u32", OpClass::integer,
     bind_bytes<AbsoluteDifference>},
    {"vmin4(.u32|.s32)(.u32|.s32)(.u32|.s32)[.sat|.add] d:u32, a:u32, b:u32, c:u32", OpClass::integer,
     bind_bytes<Least>},
    {"vmax4(.u32|.s32)(.u32|.s32)(.u32|.s32)[.sat|.add] d:u32, a:u32, b:u32, c:u32", OpClass::integer,
     bind_bytes<Most>},
    {"vset4(.u32|.s32)(.u32|.s32)(.eq|.ne|.lt|.le|.gt|.ge)[.add] d:u32, a:u32, b:u32, c:u32",
     OpClass::integer, bind_set<std::int8_t, std::uint8_t>},
    {"vadd2(.u32|.s32)(.u32|.s32)(.u32|.s32)[.sat|.add] d:u32, a:u32, b:u32, c:u32", OpClass::integer,
     bind_halves<Add>},
    {"vsub2(.u32|.s32)(.u32|.s32)(.u32|.s32)[.sat|.add] d:u32, a:u32, b:u32, c:u32", OpClass::integer,
     bind_halves<Sub>},
    {"vavrg2(.u32|.s32)(.u32|.s32)(.u32|.s32)[.sat|.add] d:u32, a:u32, b:u32, c:u32", OpClass::integer,
     bind_halves<Average>},
    {"vabsdiff2(.u32|.s32)(.u32|.s32)(.u32|.s32)[.sat|.add] d:u32, a:u32, b:u32, c:u32", OpClass::integer,
     bind_halves<AbsoluteDifference>},
    {"vmin2(.u32|.s32)(.u32|.s32)(.u32|.s32)[.sat|.add] d:u32, a:u32, b:u32, c:u32", OpClass::integer,
     bind_halves<Least>},
    {"vmax2(.u32|.s32)(.u32|.s32)(.u32|.s32)[.sat|.add] d:u32, a:u32, b:u32, c:u32", OpClass::integer,
     bind_halves<Most>},
    {"vset2(.u32|.s32)(.u32|.s32)(.eq|.ne|.lt|.le|.gt|.ge)[.add] d:u32, a:u32, b:u32, c:u32",
     OpClass::integer, bind_set<std::int16_t, std::uint16_t>},
};

}  // namespace

std::span<const OpcodeRow> video_rows() {
  return kRows;
}

}  // namespace gpuforge::sim
