// f16 and bf16, alone and packed in twos. Every result is the exact one rounded once.
#include <type_traits>

#include "gpuforge/sim/lanes/approx_math.h"
#include "gpuforge/sim/lanes/elementwise.h"
#include "gpuforge/sim/lanes/half_bits.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

enum class Finish : std::uint8_t { none, saturate, relu };

template <class Format, Finish Last, bool Ftz>
std::uint32_t finished(float value) {
  std::uint32_t bits = Format::template flush<Ftz>(Format::narrow(value));
  if constexpr (Ftz && std::is_same_v<Format, HalfBits>) {  // bf16 has it in approximations alone
    // Tiny is what would be below the smallest normal number if exponents had no end, as in f32
    // (float_bits.h).
    constexpr float kSmallest = 0x1p-14f - 0x1p-26f;
    bits = select32(std::fabs(value) < kSmallest, bits & Format::kSign, bits);
  }
  if constexpr (Last == Finish::saturate) return Format::saturate(bits);
  if constexpr (Last == Finish::relu) return Format::relu(bits);
  return bits;
}
template <class Format, bool Ftz>
float widened(std::uint32_t bits) {
  return Format::widen(Format::template flush<Ftz>(bits));
}

template <class Format, bool Ftz, Finish Last>
struct Add {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    return finished<Format, Last, Ftz>(Format::add(widened<Format, Ftz>(a), widened<Format, Ftz>(b)));
  }
};
template <class Format, bool Ftz, Finish Last>
struct Sub {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    return finished<Format, Last, Ftz>(Format::add(widened<Format, Ftz>(a), -widened<Format, Ftz>(b)));
  }
};
template <class Format, bool Ftz, Finish Last>
struct Mul {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    return finished<Format, Last, Ftz>(Format::multiply(widened<Format, Ftz>(a), widened<Format, Ftz>(b)));
  }
};
template <class Format, bool Ftz, Finish Last>
struct Fma {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return finished<Format, Last, Ftz>(
        Format::multiply_add(widened<Format, Ftz>(a), widened<Format, Ftz>(b), widened<Format, Ftz>(c)));
  }
};
template <class Format, bool Ftz>
struct Abs {
  static std::uint32_t apply(std::uint32_t a) {
    const std::uint32_t magnitude = Format::template flush<Ftz>(a) & Format::kMagnitude;
    return magnitude > Format::kInfinity ? Format::kNaN : magnitude;
  }
};
template <class Format, bool Ftz>
struct Neg {
  static std::uint32_t apply(std::uint32_t a) {
    const std::uint32_t flushed = Format::template flush<Ftz>(a);
    return (flushed & Format::kMagnitude) > Format::kInfinity ? Format::kNaN : flushed ^ Format::kSign;
  }
};
template <class Format, bool Max, bool Ftz, bool NaNWins, bool XorSign>
struct MinMax {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    return min_or_max<std::uint32_t, Max, NaNWins, XorSign>(Format::template flush<Ftz>(a),
                                                            Format::template flush<Ftz>(b), Format::kSign,
                                                            Format::kInfinity, Format::kNaN);
  }
};
template <class Format, bool Ftz>
struct Ex2 {
  static std::uint32_t apply(std::uint32_t a) {
    return finished<Format, Finish::none, Ftz>(exp2_approx(widened<Format, Ftz>(a)));
  }
};
template <class Format, bool>
struct Tanh {
  static std::uint32_t apply(std::uint32_t a) {
    return finished<Format, Finish::none, false>(tanh_approx(Format::widen(a)));
  }
};

// One value in the low half of a row's element, or two.
template <class F, bool Packed, class... Bits>
std::uint32_t lifted(Bits... operands) {
  if constexpr (Packed)
    return F::apply((operands & 0xffffu)...) | (F::apply((operands >> 16)...) << 16);
  else
    return F::apply(operands...);
}

// Flat, because one call left in the loop would keep it scalar, and these functions are long enough for that.
template <class F, int Inputs, bool Packed, bool Masked>
[[gnu::flatten]] const Op* lanes(Warp& warp, const Op* op) {
  auto* d = row<std::uint32_t>(warp, op->operand[0]);
  const auto* a = row<std::uint32_t>(warp, op->operand[1]);
  const auto* b = Inputs >= 2 ? row<std::uint32_t>(warp, op->operand[2]) : a;
  const auto* c = Inputs >= 3 ? row<std::uint32_t>(warp, op->operand[3]) : a;
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    std::uint32_t value = 0;
    if constexpr (Inputs == 1) value = lifted<F, Packed>(a[lane]);
    if constexpr (Inputs == 2) value = lifted<F, Packed>(a[lane], b[lane]);
    if constexpr (Inputs == 3) value = lifted<F, Packed>(a[lane], b[lane], c[lane]);
    d[lane] = Masked ? select32(warp.lane_mask[lane] != 0, value, d[lane]) : value;
  }
  return op + 1;
}
template <class F, int Inputs>
Handlers lift(bool packed) {
  if (packed) return {lanes<F, Inputs, true, false>, lanes<F, Inputs, true, true>};
  return {lanes<F, Inputs, false, false>, lanes<F, Inputs, false, true>};
}

bool is_packed(const Match& match) {
  return match.type == Type::f16x2 || match.type == Type::bf16x2;
}
bool is_bfloat(const Match& match) {
  return match.type == Type::bf16 || match.type == Type::bf16x2;
}

template <class F>
Handlers lift_unary(const Match& match) {
  return lift<F, 1>(is_packed(match));
}
template <class F>
Handlers lift_binary(const Match& match) {
  return lift<F, 2>(is_packed(match));
}
template <class F>
Handlers lift_ternary(const Match& match) {
  return lift<F, 3>(is_packed(match));
}

template <template <class, bool, Finish> class F, bool Ftz>
Handlers bind_half_binary(const Match& match) {
  if (match.has("sat")) return lift_binary<F<HalfBits, Ftz, Finish::saturate>>(match);
  return lift_binary<F<HalfBits, Ftz, Finish::none>>(match);
}
template <template <class, bool, Finish> class F>
Handlers bind_binary(const Match& match) {
  if (is_bfloat(match)) return lift_binary<F<BFloat16Bits, false, Finish::none>>(match);
  return match.has("ftz") ? bind_half_binary<F, true>(match) : bind_half_binary<F, false>(match);
}

template <bool Ftz>
Handlers bind_half_fma(const Match& match) {
  if (match.has("sat")) return lift_ternary<Fma<HalfBits, Ftz, Finish::saturate>>(match);
  if (match.has("relu")) return lift_ternary<Fma<HalfBits, Ftz, Finish::relu>>(match);
  return lift_ternary<Fma<HalfBits, Ftz, Finish::none>>(match);
}
Handlers bind_fma(const Match& match) {
  if (is_bfloat(match))
    return match.has("relu") ? lift_ternary<Fma<BFloat16Bits, false, Finish::relu>>(match)
                             : lift_ternary<Fma<BFloat16Bits, false, Finish::none>>(match);
  return match.has("ftz") ? bind_half_fma<true>(match) : bind_half_fma<false>(match);
}

template <template <class, bool> class F>
Handlers bind_unary(const Match& match) {
  if (is_bfloat(match))
    return match.has("ftz") ? lift_unary<F<BFloat16Bits, true>>(match)
                            : lift_unary<F<BFloat16Bits, false>>(match);
  return match.has("ftz") ? lift_unary<F<HalfBits, true>>(match) : lift_unary<F<HalfBits, false>>(match);
}

template <class Format, bool Max, bool Ftz>
Handlers bind_min_max(const Match& match) {
  if (match.has("NaN"))
    return match.has("xorsign") ? lift_binary<MinMax<Format, Max, Ftz, true, true>>(match)
                                : lift_binary<MinMax<Format, Max, Ftz, true, false>>(match);
  return match.has("xorsign") ? lift_binary<MinMax<Format, Max, Ftz, false, true>>(match)
                              : lift_binary<MinMax<Format, Max, Ftz, false, false>>(match);
}
template <bool Max>
Handlers bind_min_max(const Match& match) {
  if (match.has("xorsign") != match.has("abs")) return {};
  if (is_bfloat(match)) return bind_min_max<BFloat16Bits, Max, false>(match);
  return match.has("ftz") ? bind_min_max<HalfBits, Max, true>(match)
                          : bind_min_max<HalfBits, Max, false>(match);
}

constexpr OpcodeRow kRows[] = {
    {"add[.rn][.ftz][.sat](.f16|.f16x2) d:t, a:t, b:t", OpClass::fp16, bind_binary<Add>},
    {"sub[.rn][.ftz][.sat](.f16|.f16x2) d:t, a:t, b:t", OpClass::fp16, bind_binary<Sub>},
    {"mul[.rn][.ftz][.sat](.f16|.f16x2) d:t, a:t, b:t", OpClass::fp16, bind_binary<Mul>},
    {"add[.rn](.bf16|.bf16x2) d:t, a:t, b:t", OpClass::fp16, bind_binary<Add>},
    {"sub[.rn](.bf16|.bf16x2) d:t, a:t, b:t", OpClass::fp16, bind_binary<Sub>},
    {"mul[.rn](.bf16|.bf16x2) d:t, a:t, b:t", OpClass::fp16, bind_binary<Mul>},
    {"fma.rn[.ftz][.sat|.relu](.f16|.f16x2) d:t, a:t, b:t, c:t", OpClass::fp16, bind_fma},
    {"fma.rn[.relu](.bf16|.bf16x2) d:t, a:t, b:t, c:t", OpClass::fp16, bind_fma},
    {"abs[.ftz](.f16|.f16x2) d:t, a:t", OpClass::fp16, bind_unary<Abs>},
    {"neg[.ftz](.f16|.f16x2) d:t, a:t", OpClass::fp16, bind_unary<Neg>},
    {"abs(.bf16|.bf16x2) d:t, a:t", OpClass::fp16, bind_unary<Abs>},
    {"neg(.bf16|.bf16x2) d:t, a:t", OpClass::fp16, bind_unary<Neg>},
    {"min[.ftz][.NaN][.xorsign][.abs](.f16|.f16x2) d:t, a:t, b:t", OpClass::fp16, bind_min_max<false>},
    {"max[.ftz][.NaN][.xorsign][.abs](.f16|.f16x2) d:t, a:t, b:t", OpClass::fp16, bind_min_max<true>},
    {"min[.NaN][.xorsign][.abs](.bf16|.bf16x2) d:t, a:t, b:t", OpClass::fp16, bind_min_max<false>},
    {"max[.NaN][.xorsign][.abs](.bf16|.bf16x2) d:t, a:t, b:t", OpClass::fp16, bind_min_max<true>},
    {"ex2.approx(.f16|.f16x2) d:t, a:t", OpClass::special_function, bind_unary<Ex2>},
    {"ex2.approx.ftz(.bf16|.bf16x2) d:t, a:t", OpClass::special_function, bind_unary<Ex2>},
    {"tanh.approx(.f16|.f16x2|.bf16|.bf16x2) d:t, a:t", OpClass::special_function, bind_unary<Tanh>},
};

}  // namespace

std::span<const OpcodeRow> half_rows() {
  return kRows;
}

}  // namespace gpuforge::sim
