// Integer arithmetic: add sub mul mad div rem abs neg min max sad, the 24-bit and packed forms, dp4a, dp2a.
#include <algorithm>
#include <limits>

#include "gpuforge/sim/lanes/integer_types.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

template <class T>
T clamped(auto value) {
  using Limits = std::numeric_limits<T>;
  using Value = decltype(value);
  return static_cast<T>(std::min<Value>(std::max<Value>(value, Value{Limits::min()}), Value{Limits::max()}));
}

struct Add {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(bits_of(a) + bits_of(b));
  }
};
struct Sub {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(bits_of(a) - bits_of(b));
  }
};
struct AddSat {
  template <class T>
  static T apply(T a, T b) {
    return clamped<T>(std::int64_t{a} + b);
  }
};
struct SubSat {
  template <class T>
  static T apply(T a, T b) {
    return clamped<T>(std::int64_t{a} - b);
  }
};
struct MulLo {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(bits_of(a) * bits_of(b));
  }
};
struct MulHi {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>((WiderOf<T>{a} * WiderOf<T>{b}) >> kBits<T>);
  }
};
template <class Product>
struct Mad {
  template <class T>
  static T apply(T a, T b, T c) {
    return Add::apply<T>(Product::template apply<T>(a, b), c);
  }
};
struct MadHiSat {
  template <class T>
  static T apply(T a, T b, T c) {
    return AddSat::apply<T>(MulHi::apply<T>(a, b), c);
  }
};

template <class T>
struct MulWide {
  using Result = RowOf<WiderOf<T>>;
  using A = RowOf<T>;
  using B = RowOf<T>;
  static Result apply(A a, B b) {
    return static_cast<Result>(WiderOf<T>{from_row<T>(a)} * WiderOf<T>{from_row<T>(b)});
  }
};
template <class T>
struct MadWide {
  using Result = typename MulWide<T>::Result;
  using A = RowOf<T>;
  using B = RowOf<T>;
  using C = Result;
  static Result apply(A a, B b, C c) { return MulWide<T>::apply(a, b) + c; }
};

// Of 24 bits each, high: bits 16 to 47 of the product.
struct Mul24Lo {
  template <class T>
  static std::int64_t product(T a, T b) {
    const auto low24 = [](T value) { return std::int64_t{static_cast<T>(bits_of(value) << 8) >> 8}; };
    return low24(a) * low24(b);
  }
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(product(a, b));
  }
};
struct Mul24Hi {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(Mul24Lo::product(a, b) >> 16);
  }
};
struct Mad24HiSat {
  template <class T>
  static T apply(T a, T b, T c) {
    return AddSat::apply<T>(Mul24Hi::apply<T>(a, b), c);
  }
};

// By zero: the code ptxas makes gives all ones for quotient and remainder. The lowest value by -1 wraps.
struct Div {
  template <class T>
  static T apply(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return Sub::apply<T>(0, a);
    }
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <class T>
  static T apply(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
};

struct Neg {
  template <class T>
  static T apply(T a) {
    return static_cast<T>(0 - bits_of(a));
  }
};
struct Abs {
  template <class T>
  static T apply(T a) {
    return a < 0 ? Neg::apply<T>(a) : a;
  }
};
struct Min {
  template <class T>
  static T apply(T a, T b) {
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static T apply(T a, T b) {
    return a > b ? a : b;
  }
};
template <class Operation>
struct Relu {
  template <class T>
  static T apply(T a, T b) {
    return Max::apply<T>(Operation::template apply<T>(a, b), 0);
  }
};
struct Sad {
  template <class T>
  static T apply(T a, T b, T c) {
    const auto difference = a < b ? bits_of(b) - bits_of(a) : bits_of(a) - bits_of(b);
    return static_cast<T>(bits_of(c) + difference);
  }
};

// dp4a: bytes of a by bytes of b. dp2a: halves of a by two bytes of b, from bit kShiftB on.
template <class PartA, class PartB, int kShiftB>
struct Dot {
  using Result = std::uint32_t;
  using A = std::uint32_t;
  using B = std::uint32_t;
  using C = std::uint32_t;
  static Result apply(A a, B b, C c) {
    std::uint32_t sum = c;
    for (int i = 0; i < 32 / kBits<PartA>; ++i) {
      const auto x = static_cast<std::int32_t>(static_cast<PartA>(a >> (i * kBits<PartA>)));
      const auto y = static_cast<std::int32_t>(static_cast<PartB>(b >> (kShiftB + i * 8)));
      sum += static_cast<std::uint32_t>(x * y);
    }
    return sum;
  }
};

template <class Operation, class T>
Handlers binary_of() {
  return binary<OnValues<Operation, T>>();
}
template <class Operation>
Handlers bind_binary(const Match& match) {
  return for_integer(match.type, []<class T>() { return binary_of<Operation, T>(); });
}
template <class Operation>
Handlers bind_wrapping(const Match& match) {
  return for_width(match.type, []<class T>() { return binary_of<Operation, T>(); });
}
template <class Operation>
Handlers bind_packed(const Match& match) {
  if (match.has("u16x2")) return binary<OnPacked<Operation, std::uint16_t>>();
  if (match.has("s16x2")) return binary<OnPacked<Operation, std::int16_t>>();
  if (match.has("u8x4")) return binary<OnPacked<Operation, std::uint8_t>>();
  if (match.has("s8x4")) return binary<OnPacked<Operation, std::int8_t>>();
  return {};
}
template <class Operation>
Handlers bind_saturating(const Match& match) {
  if (match.type == Type::s32) return binary_of<Operation, std::int32_t>();
  if (match.type == Type::u32) return binary_of<Operation, std::uint32_t>();
  return bind_packed<Operation>(match);
}
template <class Operation>
Handlers bind_relu(const Match& match) {
  if (match.type == Type::s32) return binary_of<Relu<Operation>, std::int32_t>();
  if (match.has("s16x2")) return binary<OnPacked<Relu<Operation>, std::int16_t>>();
  if (match.has("s8x4")) return binary<OnPacked<Relu<Operation>, std::int8_t>>();
  return {};
}
template <class Operation>
Handlers bind_ternary(const Match& match) {
  return for_integer(match.type, []<class T>() { return ternary<OnValues<Operation, T>>(); });
}
Handlers bind_mad_lo(const Match& match) {
  return for_width(match.type, []<class T>() { return ternary<OnValues<Mad<MulLo>, T>>(); });
}
template <class Operation>
Handlers bind_s32(const Match&) {
  return ternary<OnValues<Operation, std::int32_t>>();
}
template <class Operation>
Handlers bind_unary(const Match& match) {
  return for_integer(match.type, []<class T>() -> Handlers {
    if constexpr (std::is_signed_v<T>)
      return unary<OnValues<Operation, T>>();
    else
      return {};
  });
}
Handlers bind_neg_packed(const Match&) {
  return unary<OnPacked<Neg, std::int8_t>>();
}
template <template <class> class Wide, bool kTernary>
Handlers bind_wide(const Match& match) {
  return for_integer(match.type, []<class T>() -> Handlers {
    if constexpr (sizeof(T) == 8)
      return {};
    else if constexpr (kTernary)
      return ternary<Wide<T>>();
    else
      return binary<Wide<T>>();
  });
}
template <class Signed, class Unsigned, bool kDp2aHigh>
Handlers bind_dot(const Match& match) {
  constexpr int shift = kDp2aHigh ? 16 : 0;
  const bool signed_a = match.other_type == Type::s32;
  if (match.type == Type::s32)
    return signed_a ? ternary<Dot<Signed, std::int8_t, shift>>()
                    : ternary<Dot<Unsigned, std::int8_t, shift>>();
  return signed_a ? ternary<Dot<Signed, std::uint8_t, shift>>()
                  : ternary<Dot<Unsigned, std::uint8_t, shift>>();
}
template <bool kHigh>
constexpr auto bind_dp2a = bind_dot<std::int16_t, std::uint16_t, kHigh>;

constexpr std::string_view kByZero = "Division by zero gives all ones, as the GPU's code does.";

constexpr OpcodeRow kRows[] = {
    {"add(.u16|.s16|.u32|.s32|.u64|.s64) d:t, a:t, b:t", OpClass::integer, bind_wrapping<Add>},
    {"add(.u16x2|.s16x2|.u8x4|.s8x4) d:u32, a:u32, b:u32", OpClass::integer, bind_packed<Add>},
    {"add.sat(.s32|.u32|.u16x2|.s16x2|.u8x4|.s8x4) d:u32, a:u32, b:u32", OpClass::integer,
     bind_saturating<AddSat>},
    {"sub(.u16|.s16|.u32|.s32|.u64|.s64) d:t, a:t, b:t", OpClass::integer, bind_wrapping<Sub>},
    {"sub(.u8x4|.s8x4) d:u32, a:u32, b:u32", OpClass::integer, bind_packed<Sub>},
    {"sub.sat(.s32|.u8x4|.s8x4) d:u32, a:u32, b:u32", OpClass::integer, bind_saturating<SubSat>},
    {"mul.lo(.u16|.s16|.u32|.s32|.u64|.s64) d:t, a:t, b:t", OpClass::integer, bind_wrapping<MulLo>},
    {"mul.hi(.u16|.s16|.u32|.s32|.u64|.s64) d:t, a:t, b:t", OpClass::integer, bind_binary<MulHi>},
    {"mul.wide(.u16|.s16|.u32|.s32) d:w, a:t, b:t", OpClass::integer, bind_wide<MulWide, false>},
    {"mad.lo(.u16|.s16|.u32|.s32|.u64|.s64) d:t, a:t, b:t, c:t", OpClass::integer, bind_mad_lo},
    {"mad.hi(.u16|.s16|.u32|.s32|.u64|.s64) d:t, a:t, b:t, c:t", OpClass::integer, bind_ternary<Mad<MulHi>>},
    {"mad.hi.sat.s32 d:t, a:t, b:t, c:t", OpClass::integer, bind_s32<MadHiSat>},
    {"mad.wide(.u16|.s16|.u32|.s32) d:w, a:t, b:t, c:w", OpClass::integer, bind_wide<MadWide, true>},
    {"mul24.lo(.u32|.s32) d:t, a:t, b:t", OpClass::integer,
     [](const Match& match) {
       return match.type == Type::s32 ? binary_of<Mul24Lo, std::int32_t>()
                                      : binary_of<Mul24Lo, std::uint32_t>();
     }},
    {"mul24.hi(.u32|.s32) d:t, a:t, b:t", OpClass::integer,
     [](const Match& match) {
       return match.type == Type::s32 ? binary_of<Mul24Hi, std::int32_t>()
                                      : binary_of<Mul24Hi, std::uint32_t>();
     }},
    {"mad24.lo(.u32|.s32) d:t, a:t, b:t, c:t", OpClass::integer,
     [](const Match& match) {
       return match.type == Type::s32 ? ternary<OnValues<Mad<Mul24Lo>, std::int32_t>>()
                                      : ternary<OnValues<Mad<Mul24Lo>, std::uint32_t>>();
     }},
    {"mad24.hi(.u32|.s32) d:t, a:t, b:t, c:t", OpClass::integer,
     [](const Match& match) {
       return match.type == Type::s32 ? ternary<OnValues<Mad<Mul24Hi>, std::int32_t>>()
                                      : ternary<OnValues<Mad<Mul24Hi>, std::uint32_t>>();
     }},
    {"mad24.hi.sat.s32 d:t, a:t, b:t, c:t", OpClass::integer, bind_s32<Mad24HiSat>},
    {"div(.u16|.s16|.u32|.s32|.u64|.s64) d:t, a:t, b:t", OpClass::integer, bind_binary<Div>, kByZero},
    {"rem(.u16|.s16|.u32|.s32|.u64|.s64) d:t, a:t, b:t", OpClass::integer, bind_binary<Rem>, kByZero},
    {"abs(.s16|.s32|.s64) d:t, a:t", OpClass::integer, bind_unary<Abs>},
    {"neg(.s16|.s32|.s64) d:t, a:t", OpClass::integer, bind_unary<Neg>},
    {"neg.s8x4 d:u32, a:u32", OpClass::integer, bind_neg_packed},
    {"min(.u16|.s16|.u32|.s32|.u64|.s64) d:t, a:t, b:t", OpClass::integer, bind_binary<Min>},
    {"min(.u16x2|.s16x2|.u8x4|.s8x4) d:u32, a:u32, b:u32", OpClass::integer, bind_packed<Min>},
    {"min.relu(.s32|.s16x2|.s8x4) d:u32, a:u32, b:u32", OpClass::integer, bind_relu<Min>},
    {"max(.u16|.s16|.u32|.s32|.u64|.s64) d:t, a:t, b:t", OpClass::integer, bind_binary<Max>},
    {"max(.u16x2|.s16x2|.u8x4|.s8x4) d:u32, a:u32, b:u32", OpClass::integer, bind_packed<Max>},
    {"max.relu(.s32|.s16x2|.s8x4) d:u32, a:u32, b:u32", OpClass::integer, bind_relu<Max>},
    {"sad(.u16|.s16|.u32|.s32|.u64|.s64) d:t, a:t, b:t, c:t", OpClass::integer, bind_ternary<Sad>},
    {"dp4a(.u32|.s32)(.u32|.s32) d:u32, a:u32, b:u32, c:u32", OpClass::integer,
     bind_dot<std::int8_t, std::uint8_t, false>},
    {"dp2a.lo(.u32|.s32)(.u32|.s32) d:u32, a:u32, b:u32, c:u32", OpClass::integer, bind_dp2a<false>},
    {"dp2a.hi(.u32|.s32)(.u32|.s32) d:u32, a:u32, b:u32, c:u32", OpClass::integer, bind_dp2a<true>},
};

}  // namespace

std::span<const OpcodeRow> integer_rows() {
  return kRows;
}

}  // namespace gpuforge::sim
