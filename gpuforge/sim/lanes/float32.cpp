// f32 arithmetic that IEEE 754 defines to the last bit. The approximations are in float32_approx.cpp.
#include <cmath>
#include <cstring>

#include "gpuforge/sim/lanes/float32_approx.h"
#include "gpuforge/sim/lanes/float_bits.h"
#include "gpuforge/sim/lanes/half_bits.h"
#include "gpuforge/sim/lanes/rounding.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

struct Row32 {
  using Result = std::uint32_t;
  using A = std::uint32_t;
  using B = std::uint32_t;
  using C = std::uint32_t;
};

template <bool Ftz, bool Sat>
struct Add : Row32 {
  static Result apply(A a, B b) { return output32<Ftz, Sat>(input32<Ftz>(a) + input32<Ftz>(b)); }
};
template <bool Ftz, bool Sat>
struct Sub : Row32 {
  static Result apply(A a, B b) { return output32<Ftz, Sat>(input32<Ftz>(a) - input32<Ftz>(b)); }
};
template <bool Ftz, bool Sat>
struct Mul : Row32 {
  static Result apply(A a, B b) {
    const float x = input32<Ftz>(a), y = input32<Ftz>(b);
    return output32<Ftz, Sat>(x * y, Ftz ? x * kScale * y : 0);
  }
};
template <bool Ftz, bool Sat>
struct Fma : Row32 {
  static Result apply(A a, B b, C c) {
    const float x = input32<Ftz>(a), y = input32<Ftz>(b), z = input32<Ftz>(c);
    return output32<Ftz, Sat>(std::fma(x, y, z), Ftz ? std::fma(x * kScale, y, z * kScale) : 0);
  }
};
template <bool Ftz>
struct Div : Row32 {
  static Result apply(A a, B b) {
    const float x = input32<Ftz>(a), y = input32<Ftz>(b);
    return output32<Ftz, false>(x / y, Ftz ? x * kScale / y : 0);
  }
};
template <bool Ftz>
struct Rcp : Row32 {
  static Result apply(A a) {
    const float x = input32<Ftz>(a);
    return output32<Ftz, false>(1.0f / x, Ftz ? kScale / x : 0);
  }
};
template <bool Ftz>
struct Sqrt : Row32 {
  static Result apply(A a) { return output32<Ftz, false>(std::sqrt(input32<Ftz>(a))); }
};
template <bool Ftz>
struct Abs : Row32 {
  static Result apply(A a) { return is_nan32(a) ? kNaN32 : flush32<Ftz>(a) & ~kSign32; }
};
template <bool Ftz>
struct Neg : Row32 {
  static Result apply(A a) { return is_nan32(a) ? kNaN32 : flush32<Ftz>(a) ^ kSign32; }
};
struct CopySign : Row32 {
  static Result apply(A a, B b) { return (a & kSign32) | (b & ~kSign32); }
};

template <bool Max, bool Ftz, bool NaNWins, bool XorSign>
struct MinMax : Row32 {
  static Result apply(A a, B b) {
    return min_or_max<std::uint32_t, Max, NaNWins, XorSign>(flush32<Ftz>(a), flush32<Ftz>(b), kSign32,
                                                            kInfinity32, kNaN32);
  }
};
template <bool Max, bool Ftz, bool NaNWins, bool Absolute>
struct MinMax3 : Row32 {
  static Result apply(A a, B b, C c) {
    constexpr std::uint32_t kKeep = Absolute ? ~kSign32 : ~0u;
    using Two = MinMax<Max, Ftz, NaNWins, false>;
    return Two::apply(Two::apply(a & kKeep, b & kKeep), c & kKeep);
  }
};

// One of the narrow operands of mixed precision is a or b; the sum is rounded to f32 once.
template <class Format, bool Sat>
struct MixedAdd : Row32 {
  static Result apply(A a, B c) { return output32<false, Sat>(Format::widen(a) + input32<false>(c)); }
};
template <class Format, bool Sat>
struct MixedSub : Row32 {
  static Result apply(A a, B c) { return output32<false, Sat>(Format::widen(a) - input32<false>(c)); }
};
template <class Format, bool Sat>
struct MixedFma : Row32 {
  static Result apply(A a, B b, C c) {
    return output32<false, Sat>(std::fma(Format::widen(a), Format::widen(b), input32<false>(c)));
  }
};

// A packed row is 64 floats side by side.
template <class F, int Inputs, bool Masked>
const Op* packed(Warp& warp, const Op* op) {
  const auto* a = row<std::uint32_t>(warp, op->operand[1]);
  const auto* b = row<std::uint32_t>(warp, op->operand[2]);
  const auto* c = Inputs == 3 ? row<std::uint32_t>(warp, op->operand[3]) : b;
  alignas(64) std::uint32_t value[2 * kLanes];
  for (int i = 0; i < 2 * kLanes; ++i) {
    if constexpr (Inputs == 3)
      value[i] = F::apply(a[i], b[i], c[i]);
    else
      value[i] = F::apply(a[i], b[i]);
  }
  auto* pairs = row<std::uint64_t>(warp, op->operand[0]);
  for (int lane = 0; lane < kLanes; ++lane) {
    std::uint64_t pair = 0;
    std::memcpy(&pair, value + 2 * lane, sizeof pair);
    pairs[lane] = !Masked || warp.lane_mask[lane] != 0 ? pair : pairs[lane];
  }
  return op + 1;
}
template <class F, int Inputs>
Handlers packed(const Match& match) {
  return in_mode<packed<F, Inputs, false>, packed<F, Inputs, true>>(rounding_of(match));
}

template <template <bool, bool> class F>
Handlers bind_binary(const Match& match) {
  const Rounding mode = rounding_of(match);
  if (match.has("ftz")) return match.has("sat") ? binary<F<true, true>>(mode) : binary<F<true, false>>(mode);
  return match.has("sat") ? binary<F<false, true>>(mode) : binary<F<false, false>>(mode);
}
Handlers bind_fma(const Match& match) {
  const Rounding mode = rounding_of(match);
  if (match.has("ftz"))
    return match.has("sat") ? ternary<Fma<true, true>>(mode) : ternary<Fma<true, false>>(mode);
  return match.has("sat") ? ternary<Fma<false, true>>(mode) : ternary<Fma<false, false>>(mode);
}
Handlers bind_div(const Match& match) {
  const Rounding mode = rounding_of(match);
  return match.has("ftz") ? binary<Div<true>>(mode) : binary<Div<false>>(mode);
}
template <template <bool> class F>
Handlers bind_unary(const Match& match) {
  const Rounding mode = rounding_of(match);
  return match.has("ftz") ? unary<F<true>>(mode) : unary<F<false>>(mode);
}

template <bool Max, bool Ftz>
Handlers bind_min_max(bool nan, bool xorsign) {
  if (nan) return xorsign ? binary<MinMax<Max, Ftz, true, true>>() : binary<MinMax<Max, Ftz, true, false>>();
  return xorsign ? binary<MinMax<Max, Ftz, false, true>>() : binary<MinMax<Max, Ftz, false, false>>();
}
template <bool Max>
Handlers bind_min_max(const Match& match) {
  if (match.has("xorsign") != match.has("abs")) return {};
  return match.has("ftz") ? bind_min_max<Max, true>(match.has("NaN"), match.has("xorsign"))
                          : bind_min_max<Max, false>(match.has("NaN"), match.has("xorsign"));
}
template <bool Max, bool Ftz>
Handlers bind_min_max3(bool nan, bool absolute) {
  if (nan)
    return absolute ? ternary<MinMax3<Max, Ftz, true, true>>() : ternary<MinMax3<Max, Ftz, true, false>>();
  return absolute ? ternary<MinMax3<Max, Ftz, false, true>>() : ternary<MinMax3<Max, Ftz, false, false>>();
}
template <bool Max>
Handlers bind_min_max3(const Match& match) {
  return match.has("ftz") ? bind_min_max3<Max, true>(match.has("NaN"), match.has("abs"))
                          : bind_min_max3<Max, false>(match.has("NaN"), match.has("abs"));
}

template <template <class, bool> class F>
Handlers bind_mixed(const Match& match) {
  const Rounding mode = rounding_of(match);
  if (match.type == Type::bf16)
    return match.has("sat") ? binary<F<BFloat16Bits, true>>(mode) : binary<F<BFloat16Bits, false>>(mode);
  return match.has("sat") ? binary<F<HalfBits, true>>(mode) : binary<F<HalfBits, false>>(mode);
}
Handlers bind_mixed_fma(const Match& match) {
  const Rounding mode = rounding_of(match);
  if (match.type == Type::bf16)
    return match.has("sat") ? ternary<MixedFma<BFloat16Bits, true>>(mode)
                            : ternary<MixedFma<BFloat16Bits, false>>(mode);
  return match.has("sat") ? ternary<MixedFma<HalfBits, true>>(mode)
                          : ternary<MixedFma<HalfBits, false>>(mode);
}

template <template <bool, bool> class F>
Handlers bind_packed(const Match& match) {
  return match.has("ftz") ? packed<F<true, false>, 2>(match) : packed<F<false, false>, 2>(match);
}
Handlers bind_packed_fma(const Match& match) {
  return match.has("ftz") ? packed<Fma<true, false>, 3>(match) : packed<Fma<false, false>, 3>(match);
}

constexpr OpcodeRow kRows[] = {
    {"add[.rn|.rz|.rm|.rp][.ftz][.sat].f32 d:t, a:t, b:t", OpClass::fp32, bind_binary<Add>},
    {"sub[.rn|.rz|.rm|.rp][.ftz][.sat].f32 d:t, a:t, b:t", OpClass::fp32, bind_binary<Sub>},
    {"mul[.rn|.rz|.rm|.rp][.ftz][.sat].f32 d:t, a:t, b:t", OpClass::fp32, bind_binary<Mul>},
    {"fma(.rn|.rz|.rm|.rp)[.ftz][.sat].f32 d:t, a:t, b:t, c:t", OpClass::fp32, bind_fma},
    {"mad(.rn|.rz|.rm|.rp)[.ftz][.sat].f32 d:t, a:t, b:t, c:t", OpClass::fp32, bind_fma, "the same as fma"},
    {"div(.rn|.rz|.rm|.rp)[.ftz].f32 d:t, a:t, b:t", OpClass::fp32, bind_div},
    {"rcp(.rn|.rz|.rm|.rp)[.ftz].f32 d:t, a:t", OpClass::fp32, bind_unary<Rcp>},
    {"sqrt(.rn|.rz|.rm|.rp)[.ftz].f32 d:t, a:t", OpClass::fp32, bind_unary<Sqrt>},
    {"abs[.ftz].f32 d:t, a:t", OpClass::fp32, bind_unary<Abs>},
    {"neg[.ftz].f32 d:t, a:t", OpClass::fp32, bind_unary<Neg>},
    {"copysign.f32 d:t, a:t, b:t", OpClass::fp32, [](const Match&) { return binary<CopySign>(); }},
    {"min[.ftz][.NaN][.xorsign][.abs].f32 d:t, a:t, b:t", OpClass::fp32, bind_min_max<false>},
    {"max[.ftz][.NaN][.xorsign][.abs].f32 d:t, a:t, b:t", OpClass::fp32, bind_min_max<true>},
    {"min[.ftz][.NaN][.abs].f32 d:t, a:t, b:t, c:t", OpClass::fp32, bind_min_max3<false>},
    {"max[.ftz][.NaN][.abs].f32 d:t, a:t, b:t, c:t", OpClass::fp32, bind_min_max3<true>},
    {"add[.rn|.rz|.rm|.rp][.sat].f32(.f16|.bf16) d:s, a:t, c:s", OpClass::fp32, bind_mixed<MixedAdd>},
    {"sub[.rn|.rz|.rm|.rp][.sat].f32(.f16|.bf16) d:s, a:t, c:s", OpClass::fp32, bind_mixed<MixedSub>},
    {"fma(.rn|.rz|.rm|.rp)[.sat].f32(.f16|.bf16) d:s, a:t, b:t, c:s", OpClass::fp32, bind_mixed_fma},
    {"add[.rn|.rz|.rm|.rp][.ftz].f32x2 d:u64, a:u64, b:u64", OpClass::fp32, bind_packed<Add>},
    {"sub[.rn|.rz|.rm|.rp][.ftz].f32x2 d:u64, a:u64, b:u64", OpClass::fp32, bind_packed<Sub>},
    {"mul[.rn|.rz|.rm|.rp][.ftz].f32x2 d:u64, a:u64, b:u64", OpClass::fp32, bind_packed<Mul>},
    {"fma(.rn|.rz|.rm|.rp)[.ftz].f32x2 d:u64, a:u64, b:u64, c:u64", OpClass::fp32, bind_packed_fma},
    {"div.approx[.ftz].f32 d:t, a:t, b:t", OpClass::special_function, bind_div_approx},
    {"div.full[.ftz].f32 d:t, a:t, b:t", OpClass::special_function, bind_div, "correctly rounded here"},
    {"rcp.approx[.ftz].f32 d:t, a:t", OpClass::special_function, bind_unary<Rcp>, "correctly rounded here"},
    {"sqrt.approx[.ftz].f32 d:t, a:t", OpClass::special_function, bind_unary<Sqrt>, "correctly rounded here"},
    {"rsqrt.approx[.ftz].f32 d:t, a:t", OpClass::special_function, bind_rsqrt_approx},
    {"sin.approx[.ftz].f32 d:t, a:t", OpClass::special_function, bind_sin_approx},
    {"cos.approx[.ftz].f32 d:t, a:t", OpClass::special_function, bind_cos_approx},
    {"lg2.approx[.ftz].f32 d:t, a:t", OpClass::special_function, bind_lg2_approx},
    {"ex2.approx[.ftz].f32 d:t, a:t", OpClass::special_function, bind_ex2_approx},
    {"tanh.approx.f32 d:t, a:t", OpClass::special_function, bind_tanh_approx},
};

}  // namespace

std::span<const OpcodeRow> float32_rows() {
  return kRows;
}

}  // namespace gpuforge::sim
