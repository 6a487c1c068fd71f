// cvt to and from formats narrower than f32 in their later forms: .relu, .satfinite, packed in twos, tf32,
// fp8, fp6 and fp4.
#include "gpuforge/sim/lanes/convert_types.h"

namespace gpuforge::sim {
namespace {

struct Row32 {
  using Result = std::uint32_t;
  using A = std::uint32_t;
  using B = std::uint32_t;
};

template <class Format, Rounding Mode, bool Relu, bool Finite>
struct Narrowed {
  static std::uint32_t apply(std::uint32_t a) {
    const std::uint32_t bits = Format::template narrow<Mode, Finite>(std::bit_cast<float>(a));
    return Relu ? Format::relu(bits) : bits;
  }
};
template <class F>
struct One : Row32 {
  static Result apply(A a) { return F::apply(a); }
};
template <class F, int Bits>
struct Two : Row32 {
  static Result apply(A a, B b) { return (F::apply(a) << Bits) | F::apply(b); }
};

// choose(F{}) for the narrowing F of an instruction.
template <class Format, Rounding Mode, class Choose>
Handlers for_narrowed(bool relu, bool finite, Choose choose) {
  if (relu)
    return finite ? choose(Narrowed<Format, Mode, true, true>{})
                  : choose(Narrowed<Format, Mode, true, false>{});
  return finite ? choose(Narrowed<Format, Mode, false, true>{})
                : choose(Narrowed<Format, Mode, false, false>{});
}
template <class Choose>
Handlers for_half(const Match& match, Choose choose) {
  const bool relu = match.has("relu");
  const bool finite = match.has("satfinite");
  const bool bfloat = match.other_type == Type::bf16 || match.other_type == Type::bf16x2;
  if (match.has("rz"))
    return bfloat ? for_narrowed<BFloat16Bits, Rounding::zero>(relu, finite, choose)
                  : for_narrowed<HalfBits, Rounding::zero>(relu, finite, choose);
  return bfloat ? for_narrowed<BFloat16Bits, Rounding::nearest>(relu, finite, choose)
                : for_narrowed<HalfBits, Rounding::nearest>(relu, finite, choose);
}

// tf32 stands in the upper 19 bits of an f32. Its NaNs are those an H200 gives.
template <class F>
struct TensorFloat : Row32 {
  static Result apply(A a) { return is_nan32(a) ? F::nan_of(a) : F::apply(a) << TensorFloat32Bits::kDropped; }
};
template <class F>
struct WithOneNaN : F {
  static std::uint32_t nan_of(std::uint32_t) { return 0x7fffe000u; }
};
// Nearest, and away from zero halfway.
template <bool Finite>
struct NearestAway {
  // Cut off like a number, and with .satfinite taken for one that is too large.
  static std::uint32_t nan_of(std::uint32_t a) {
    constexpr std::uint32_t kUnit = 1u << TensorFloat32Bits::kDropped;
    return (a & ~(kUnit - 1)) - (Finite ? kUnit : 0);
  }
  static std::uint32_t apply(std::uint32_t a) {
    constexpr int kDropped = TensorFloat32Bits::kDropped;
    const std::uint32_t magnitude = a & ~kSign32;
    std::uint32_t kept = (magnitude + (1u << (kDropped - 1))) >> kDropped;
    if constexpr (Finite) kept = kept > TensorFloat32Bits::kLargest ? TensorFloat32Bits::kLargest : kept;
    return kept | ((a & kSign32) >> kDropped);
  }
};

// Both halves of an f16x2 to a pair of eight-bit formats.
template <class F>
struct FromHalves : Row32 {
  static Result apply(A a) {
    const std::uint32_t high = F::apply(std::bit_cast<std::uint32_t>(HalfBits::widen(a >> 16)));
    const std::uint32_t low = F::apply(std::bit_cast<std::uint32_t>(HalfBits::widen(a & 0xffffu)));
    return (high << 8) | low;
  }
};
template <class Format, bool Relu>
struct ToHalves : Row32 {
  static constexpr int kBits = Format::kSign == 0x8u ? 4 : 8;  // fp6 takes a byte each
  static std::uint32_t half(std::uint32_t a) {
    const std::uint32_t bits = HalfBits::narrow(Format::widen(a & (Format::kSign | Format::kMagnitude)));
    return Relu ? HalfBits::relu(bits) : bits;
  }
  static Result apply(A a) { return (half(a >> kBits) << 16) | half(a); }
};

// ue8m0 is the exponent of an f32 alone: 2^(code - 127), and 255 is NaN.
template <bool Up, bool Finite>
struct Exponent {
  static std::uint32_t apply(std::uint32_t a) {
    constexpr std::uint32_t kSmallest = 0x00400000u;  // 2^-127, code 0
    const std::uint32_t magnitude = a & ~kSign32;
    if (is_nan32(a)) return 255;
    const bool above = magnitude > kSmallest && (magnitude & 0x007fffffu) != 0;
    const std::uint32_t code = (magnitude >> 23) + (Up && above ? 1 : 0);
    return Finite && code == 255 ? 254 : code;
  }
};
template <class F>
struct ExponentsOfHalves : Row32 {
  static Result apply(A a) { return (F::apply(a & 0xffff0000u) << 8) | F::apply(a << 16); }
};
struct FromExponents : Row32 {
  static std::uint32_t half(std::uint32_t code) {
    return code == 0 ? 0x0040u : code == 255 ? BFloat16Bits::kNaN : code << 7;
  }
  static Result apply(A a) { return (half((a >> 8) & 255) << 16) | half(a & 255); }
};

template <class Choose>
Handlers for_pair(Type type, Choose choose) {
  switch (type) {
    case Type::e4m3x2:
      return choose(Float8E4M3Bits{});
    case Type::e5m2x2:
      return choose(Float8E5M2Bits{});
    case Type::e2m3x2:
      return choose(Float6E2M3Bits{});
    case Type::e3m2x2:
      return choose(Float6E3M2Bits{});
    case Type::e2m1x2:
      return choose(Float4E2M1Bits{});
    default:
      return {};
  }
}

}  // namespace

Handlers bind_narrowing(const Match& match) {
  return for_half(match, []<class F>(F) { return unary<One<F>>(); });
}

Handlers bind_packed_half(const Match& match) {
  return for_half(match, []<class F>(F) { return binary<Two<F, 16>>(); });
}

Handlers bind_tensor_float(const Match& match) {
  const bool relu = match.has("relu");
  const bool finite = match.has("satfinite");
  if (match.has("rna")) {
    if (relu) return {};
    return finite ? unary<TensorFloat<NearestAway<true>>>() : unary<TensorFloat<NearestAway<false>>>();
  }
  const auto choose = []<class F>(F) { return unary<TensorFloat<WithOneNaN<F>>>(); };
  return match.has("rz") ? for_narrowed<TensorFloat32Bits, Rounding::zero>(relu, finite, choose)
                         : for_narrowed<TensorFloat32Bits, Rounding::nearest>(relu, finite, choose);
}

Handlers bind_to_narrow_pair(const Match& match) {
  const bool relu = match.has("relu");
  return for_pair(match.other_type, [&]<class Format>(Format) -> Handlers {
    using Plain = Narrowed<Format, Rounding::nearest, false, true>;
    using Relu = Narrowed<Format, Rounding::nearest, true, true>;
    constexpr int kBits = Format::kSign == 0x8u ? 4 : 8;
    if (match.type == Type::f16x2) return relu ? unary<FromHalves<Relu>>() : unary<FromHalves<Plain>>();
    return relu ? binary<Two<Relu, kBits>>() : binary<Two<Plain, kBits>>();
  });
}

Handlers bind_to_exponents(const Match& match) {
  const auto choose = [&]<class F>(F) {
    return match.type == Type::bf16x2 ? unary<ExponentsOfHalves<F>>() : binary<Two<F, 8>>();
  };
  const bool finite = match.has("satfinite");
  if (match.has("rp")) return finite ? choose(Exponent<true, true>{}) : choose(Exponent<true, false>{});
  return finite ? choose(Exponent<false, true>{}) : choose(Exponent<false, false>{});
}

Handlers bind_from_exponents(const Match&) {
  return unary<FromExponents>();
}

Handlers bind_from_narrow_pair(const Match& match) {
  return for_pair(match.type, [&]<class Format>(Format) {
    return match.has("relu") ? unary<ToHalves<Format, true>>() : unary<ToHalves<Format, false>>();
  });
}

}  // namespace gpuforge::sim
