// cvt to integers, and cvt.pack.
#include <cmath>
#include <utility>

#include "gpuforge/sim/lanes/convert_types.h"

namespace gpuforge::sim {
namespace {

template <class Destination, class Source, bool Sat>
struct IntegerToInteger {
  using Result = typename Destination::Row;
  using A = typename Source::Row;
  static Result apply(A a) {
    auto value = Source::value(a);
    using Value = decltype(value);
    if constexpr (Sat && std::cmp_less(Source::kLowest, Destination::kLowest)) {
      constexpr auto kLowest = static_cast<Value>(Destination::kLowest);
      value = value < kLowest ? kLowest : value;
    }
    if constexpr (Sat && std::cmp_greater(Source::kHighest, Destination::kHighest)) {
      constexpr auto kHighest = static_cast<Value>(Destination::kHighest);
      value = value > kHighest ? kHighest : value;
    }
    return Destination::bits(static_cast<typename Destination::Value>(value));
  }
};

template <class Destination, class Source, Rounding Mode, bool Ftz>
struct FloatToInteger {
  using Result = typename Destination::Row;
  using A = FloatRow<Source>;
  static Result apply(A a) {
    if constexpr (std::is_same_v<Source, Float32Kind>) a = flush32<Ftz>(a);
    using Float = decltype(Source::widen(a));
    Float rounded = Source::widen(a);
    if constexpr (Mode != Rounding::zero) rounded = to_integral<Mode>(rounded);  // the conversion cuts off
    using Value = typename Destination::Value;
    // One past either end; where the lower one is not a Float, the lowest value itself, given all the same.
    constexpr auto kBefore = static_cast<Float>(Destination::kLowest) - Float{1};
    constexpr auto kPast = static_cast<Float>(Destination::kHighest / 2 + 1) * Float{2};
    const bool above = rounded >= kPast;
    const bool inside = rounded > kBefore && rounded < kPast;
    const auto value = static_cast<Value>(inside ? rounded : Float{0});
    constexpr bool kWide = std::is_same_v<Source, Float64Kind> || Destination::kBits == 64;
    constexpr Result kNaN = kWide ? Result{1} << (Destination::kBits - 1) : Result{0};
    Result result = Destination::bits(value);
    result = inside ? result : Destination::bits(Destination::kLowest);
    result = above ? Destination::bits(Destination::kHighest) : result;
    return rounded != rounded ? kNaN : result;
  }
};

template <int Bits, bool Signed>
struct Pack {
  using Result = std::uint32_t;
  using A = std::int32_t;
  using B = std::int32_t;
  using C = std::uint32_t;
  static constexpr std::int32_t kHighest = (1 << (Signed ? Bits - 1 : Bits)) - 1;
  static constexpr std::int32_t kLowest = Signed ? -kHighest - 1 : 0;
  static std::uint32_t clamp(std::int32_t value) {
    value = value < kLowest ? kLowest : value;
    value = value > kHighest ? kHighest : value;
    return static_cast<std::uint32_t>(value) & ((1u << Bits) - 1);
  }
  static Result apply(A a, B b) { return (clamp(a) << Bits) | clamp(b); }
  static Result apply(A a, B b, C c) { return (c << (2 * Bits)) | apply(a, b); }
};

}  // namespace

Handlers bind_integer_to_integer(const Match& match) {
  return for_integer(match.other_type, [&]<class Destination>(Destination) {
    return for_integer(match.type, [&]<class Source>(Source) {
      return match.has("sat") ? convert<IntegerToInteger<Destination, Source, true>, Destination, Source>()
                              : convert<IntegerToInteger<Destination, Source, false>, Destination, Source>();
    });
  });
}

Handlers bind_float_to_integer(const Match& match) {
  const bool ftz = match.has("ftz");
  if (ftz && match.type != Type::f32) return {};
  const Rounding mode = match.has("rzi")   ? Rounding::zero
                        : match.has("rmi") ? Rounding::down
                        : match.has("rpi") ? Rounding::up
                                           : Rounding::nearest;
  return for_integer(match.other_type, [&]<class Destination>(Destination) {
    return for_float(match.type, [&]<class Source>(Source) {
      return for_rounding(mode, [&]<Rounding Mode>(RoundingConstant<Mode>) {
        if constexpr (std::is_same_v<Source, Float32Kind>)
          if (ftz) return convert<FloatToInteger<Destination, Source, Mode, true>, Destination, ExactWidth>();
        return convert<FloatToInteger<Destination, Source, Mode, false>, Destination, ExactWidth>();
      });
    });
  });
}

Handlers bind_pack(const Match& match) {
  if (match.has("s16")) return binary<Pack<16, true>>();
  if (match.has("u16")) return binary<Pack<16, false>>();
  if (match.has("s8")) return ternary<Pack<8, true>>();
  if (match.has("u8")) return ternary<Pack<8, false>>();
  if (match.has("s4")) return ternary<Pack<4, true>>();
  if (match.has("u4")) return ternary<Pack<4, false>>();
  if (match.has("s2")) return ternary<Pack<2, true>>();
  if (match.has("u2")) return ternary<Pack<2, false>>();
  return {};
}

}  // namespace gpuforge::sim
