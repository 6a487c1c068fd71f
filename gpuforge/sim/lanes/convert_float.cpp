// cvt to f16, bf16, f32 and f64.
#include <cmath>

#include "gpuforge/sim/lanes/convert_types.h"

namespace gpuforge::sim {
namespace {

constexpr std::uint64_t kOne64 = 0x3ff0000000000000u;

// ---- From integers -------------------------------------------------------------------------------------

// f32 and f64, in the host's rounding mode.
template <class Destination, class Source>
struct IntegerToFloat {
  using Result = FloatRow<Destination>;
  using A = typename Source::Row;
  static Result apply(A a) {
    using Float = std::conditional_t<sizeof(Result) == 8, double, float>;
    return std::bit_cast<Result>(static_cast<Float>(Source::value(a)));
  }
};

// A double that rounds to a narrower format as the integer would: exact, or to odd beyond 2^53.
template <class Source>
double to_odd_double(typename Source::Value value) {
  if constexpr (Source::kBits < 64) {
    return static_cast<double>(value);
  } else {
    using Value = typename Source::Value;
    const bool negative = value < Value{0};
    std::uint64_t magnitude = static_cast<std::uint64_t>(value);
    magnitude = negative ? 0 - magnitude : magnitude;
    constexpr std::uint64_t kRest = 0x7ff;  // what 53 bits may not hold of 64
    const std::uint64_t sticky = (magnitude & kRest) != 0 ? kRest + 1 : 0;
    const bool large = magnitude >> 53 != 0;
    magnitude = large ? (magnitude & ~kRest) | sticky : magnitude;
    const auto absolute = static_cast<double>(magnitude);
    return negative ? -absolute : absolute;
  }
}
template <class Destination, class Source, Rounding Mode>
struct IntegerToHalf {
  using Result = std::uint32_t;
  using A = typename Source::Row;
  static Result apply(A a) {
    const auto value = Source::value(a);
    if constexpr (Source::kBits <= 16) return Destination::template narrow<Mode>(static_cast<float>(value));
    return Destination::template narrow<Mode>(narrow_to_odd(to_odd_double<Source>(value)));
  }
};
// With .sat there are two results.
template <class Destination, class Source>
struct IntegerToUnit {
  using Result = FloatRow<Destination>;
  using A = typename Source::Row;
  static constexpr Result one() {
    if constexpr (std::is_same_v<Destination, Float32Kind>)
      return kOne32;
    else if constexpr (std::is_same_v<Destination, Float64Kind>)
      return kOne64;
    else
      return Destination::kOne;
  }
  static Result apply(A a) { return Source::value(a) > 0 ? one() : Result{0}; }
};

// ---- Between floats ------------------------------------------------------------------------------------

template <Rounding Mode, bool Integral, class Float>
Float maybe_integral(Float value) {
  if constexpr (Integral)
    return to_integral<Mode>(value);
  else
    return value;
}

// To f32: in the host's rounding mode when the source is f64, else exact.
template <class Source, bool Ftz, bool Sat, bool Integral = false, Rounding Mode = Rounding::nearest>
struct ToFloat32 {
  using Result = std::uint32_t;
  using A = FloatRow<Source>;
  static Result apply(A a) {
    if constexpr (std::is_same_v<Source, Float32Kind>) a = flush32<Ftz>(a);
    const auto value = static_cast<float>(maybe_integral<Mode, Integral>(Source::widen(a)));
    // A bf16 is moved, NaN and all.
    if constexpr (std::is_same_v<Source, BFloat16Bits> && !Sat)
      return flush32<Ftz>(std::bit_cast<std::uint32_t>(value));
    // An f64's NaN keeps its sign and the upper bits of its payload (an H200 gives 0x7fc00000 for
    // 0x7ff8000000000000).
    if constexpr (sizeof(A) == 8 && !Sat)
      if (value != value) return std::bit_cast<std::uint32_t>(value) | 0x00400000u;
    return output32<Ftz, Sat>(value);
  }
};
template <class Source, bool Ftz, bool Sat, bool Integral = false, Rounding Mode = Rounding::nearest>
struct ToFloat64 {
  using Result = std::uint64_t;
  using A = FloatRow<Source>;
  static Result apply(A a) {
    if constexpr (std::is_same_v<Source, Float32Kind>) a = flush32<Ftz>(a);
    const double value = static_cast<double>(maybe_integral<Mode, Integral>(Source::widen(a)));
    const auto bits = std::bit_cast<std::uint64_t>(value);
    if constexpr (!Sat) return value != value ? bits | kQuiet64 : bits;
    const std::uint64_t clamped = value > 1.0 ? kOne64 : bits;
    return value > 0.0 ? clamped : 0;
  }
};
// To f16 and bf16.
template <class Destination, class Source, Rounding Mode, bool Ftz, bool Sat, bool Integral = false>
struct ToHalf {
  using Result = std::uint32_t;
  using A = FloatRow<Source>;
  static Result apply(A a) {
    if constexpr (std::is_same_v<Source, Float32Kind>) a = flush32<Ftz>(a);
    float value = 0;
    if constexpr (std::is_same_v<Source, Float64Kind>)
      value = narrow_to_odd(Source::widen(a));
    else
      value = maybe_integral<Mode, Integral>(Source::widen(a));
    const std::uint32_t bits = Destination::template narrow<Mode>(value);
    return Sat ? Destination::saturate(bits) : bits;
  }
};

template <class F>
Handlers exact_width(Rounding mode = Rounding::nearest) {
  return convert<F, ExactWidth, ExactWidth>(mode);
}

template <class Kind>
constexpr bool kIsHalf = std::is_same_v<Kind, HalfBits> || std::is_same_v<Kind, BFloat16Bits>;

// Within a type: what may change is the value's fraction, subnormals and range.
template <class Kind, Rounding Mode, bool Integral, bool Ftz, bool Sat>
Handlers within() {
  if constexpr (std::is_same_v<Kind, Float32Kind>)
    return exact_width<ToFloat32<Kind, Ftz, Sat, Integral, Mode>>();
  else if constexpr (std::is_same_v<Kind, Float64Kind>)
    return exact_width<ToFloat64<Kind, false, Sat, Integral, Mode>>();
  else
    return exact_width<ToHalf<Kind, Kind, Mode, false, Sat, Integral>>();
}
template <class Kind, Rounding Mode, bool Integral>
Handlers within(const Match& match) {
  const bool sat = match.has("sat");
  if constexpr (std::is_same_v<Kind, Float32Kind>)
    if (match.has("ftz"))
      return sat ? within<Kind, Mode, Integral, true, true>() : within<Kind, Mode, Integral, true, false>();
  return sat ? within<Kind, Mode, Integral, false, true>() : within<Kind, Mode, Integral, false, false>();
}
template <class Kind>
Handlers within(const Match& match) {
  if (match.has("rni")) return within<Kind, Rounding::nearest, true>(match);
  if (match.has("rzi")) return within<Kind, Rounding::zero, true>(match);
  if (match.has("rmi")) return within<Kind, Rounding::down, true>(match);
  if (match.has("rpi")) return within<Kind, Rounding::up, true>(match);
  return within<Kind, Rounding::nearest, false>(match);
}

template <class Destination, class Source, bool Ftz, bool Sat>
Handlers between(Rounding mode) {
  if constexpr (std::is_same_v<Destination, Float32Kind>)
    return exact_width<ToFloat32<Source, Ftz, Sat>>(mode);
  else if constexpr (std::is_same_v<Destination, Float64Kind>)
    return exact_width<ToFloat64<Source, Ftz, Sat>>();
  else
    return for_rounding(mode, []<Rounding Mode>(RoundingConstant<Mode>) {
      return exact_width<ToHalf<Destination, Source, Mode, Ftz, Sat>>();
    });
}

}  // namespace

Handlers bind_integer_to_float(const Match& match) {
  if (match.has("ftz") && match.other_type != Type::f32) return {};
  const Rounding mode = rounding_of(match);
  return for_float(match.other_type, [&]<class Destination>(Destination) {
    return for_integer(match.type, [&]<class Source>(Source) -> Handlers {
      if (match.has("sat")) return convert<IntegerToUnit<Destination, Source>, ExactWidth, Source>();
      if constexpr (kIsHalf<Destination>) {
        return for_rounding(mode, []<Rounding Mode>(RoundingConstant<Mode>) {
          return convert<IntegerToHalf<Destination, Source, Mode>, ExactWidth, Source>();
        });
      } else {
        // Exact ones stay in the mode they are compiled for, whose zeros have no sign.
        constexpr int kExactBits = std::is_same_v<Destination, Float64Kind> ? 32 : 16;
        if constexpr (Source::kBits <= kExactBits)
          return convert<IntegerToFloat<Destination, Source>, ExactWidth, Source>();
        else
          return convert<IntegerToFloat<Destination, Source>, ExactWidth, Source>(mode);
      }
    });
  });
}

Handlers bind_float_to_float(const Match& match) {
  const bool integral = match.has("rni") || match.has("rzi") || match.has("rmi") || match.has("rpi");
  const bool rounds = match.has("rn") || match.has("rz") || match.has("rm") || match.has("rp");
  const bool ftz = match.has("ftz");
  const bool sat = match.has("sat");
  if (ftz && match.type != Type::f32 && match.other_type != Type::f32) return {};
  if (match.type == match.other_type) {
    if (rounds) return {};
    return for_float(match.type, [&]<class Kind>(Kind) { return within<Kind>(match); });
  }
  // Rounding must be said where something can be lost, and nowhere else.
  const auto width = [](Type type) { return type == Type::f64 ? 64 : type == Type::f32 ? 32 : 16; };
  const bool loses = width(match.other_type) < width(match.type) || width(match.other_type) == 16;
  if (integral || rounds != loses) return {};
  const Rounding mode = rounding_of(match);
  return for_float(match.other_type, [&]<class Destination>(Destination) {
    return for_float(match.type, [&]<class Source>(Source) -> Handlers {
      if constexpr (std::is_same_v<Destination, Source>) {
        return {};
      } else {
        if constexpr (std::is_same_v<Source, Float32Kind> || std::is_same_v<Destination, Float32Kind>)
          if (ftz)
            return sat ? between<Destination, Source, true, true>(mode)
                       : between<Destination, Source, true, false>(mode);
        return sat ? between<Destination, Source, false, true>(mode)
                   : between<Destination, Source, false, false>(mode);
      }
    });
  });
}

}  // namespace gpuforge::sim
