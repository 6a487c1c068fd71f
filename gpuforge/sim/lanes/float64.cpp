#include <cmath>

#include "gpuforge/sim/lanes/float_bits.h"
#include "gpuforge/sim/lanes/rounding.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

struct Row64 {
  using Result = std::uint64_t;
  using A = std::uint64_t;
  using B = std::uint64_t;
  using C = std::uint64_t;
};

struct Add : Row64 {
  static Result apply(A a, B b) { return output64(input64(a) + input64(b), a, b); }
};
struct Sub : Row64 {
  static Result apply(A a, B b) { return output64(input64(a) - input64(b), a, b); }
};
struct Mul : Row64 {
  static Result apply(A a, B b) { return output64(input64(a) * input64(b), a, b); }
};
struct Fma : Row64 {
  static Result apply(A a, B b, C c) {
    return output64(std::fma(input64(a), input64(b), input64(c)), a, b, c);
  }
};
struct Div : Row64 {
  static Result apply(A a, B b) { return output64(input64(a) / input64(b), a, b); }
};
struct Rcp : Row64 {
  static Result apply(A a) { return output64(1.0 / input64(a), a); }
};
struct Sqrt : Row64 {
  static Result apply(A a) { return output64(std::sqrt(input64(a)), a); }
};
struct Rsqrt : Row64 {
  static Result apply(A a) {
    // Small operands are scaled up, where the errors below are doubles.
    const double operand = input64(a);
    const bool small = operand < 0x1p-800;
    const double x = operand * (small ? 0x1p300 : 1.0);
    const double root = std::sqrt(x);
    const double y = 1.0 / root;
    // One step that takes away the errors of both roundings; NaN where y is 0 or infinite.
    const double root_error = std::fma(-root, root, x);
    const double y_error = std::fma(-root, y, 1.0);
    const double better = std::fma(y, y_error - (0.5 * root_error * y) * y, y);
    return output64((better == better ? better : y) * (small ? 0x1p150 : 1.0), a);
  }
};
struct Abs : Row64 {
  static Result apply(A a) { return is_nan64(a) ? a | kQuiet64 : a & ~kSign64; }
};
struct Neg : Row64 {
  static Result apply(A a) { return is_nan64(a) ? a | kQuiet64 : a ^ kSign64; }
};
struct CopySign : Row64 {
  static Result apply(A a, B b) { return (a & kSign64) | (b & ~kSign64); }
};
template <bool Max>
struct MinMax : Row64 {
  static Result apply(A a, B b) {
    return min_or_max<std::uint64_t, Max, false, false>(a, b, kSign64, kInfinity64, kNaN64);
  }
};

// The gross approximations: they see the upper 32 bits of the operand and make the upper 32 of the result.
constexpr std::uint64_t upper_half(std::uint64_t bits) {
  const std::uint64_t upper = bits & 0xffffffff00000000u;
  return (upper & kInfinity64) != 0 ? upper : upper & kSign64;
}
template <class Exact>
struct Gross : Row64 {
  static Result apply(A a) {
    const Result result = Exact::apply(upper_half(a));
    return is_nan64(result) ? 0x7fffffff00000000u : upper_half(result);
  }
};

template <class F>
Handlers bind_unary(const Match& match) {
  return unary<F>(rounding_of(match));
}
template <class F>
Handlers bind_binary(const Match& match) {
  return binary<F>(rounding_of(match));
}
Handlers bind_fma(const Match& match) {
  return ternary<Fma>(rounding_of(match));
}

constexpr std::string_view kNaNNote = "a NaN operand keeps its payload; an invalid operation gives 0xfff8...";

constexpr OpcodeRow kRows[] = {
    {"add[.rn|.rz|.rm|.rp].f64 d:t, a:t, b:t", OpClass::fp64, bind_binary<Add>, kNaNNote},
    {"sub[.rn|.rz|.rm|.rp].f64 d:t, a:t, b:t", OpClass::fp64, bind_binary<Sub>, kNaNNote},
    {"mul[.rn|.rz|.rm|.rp].f64 d:t, a:t, b:t", OpClass::fp64, bind_binary<Mul>, kNaNNote},
    {"fma(.rn|.rz|.rm|.rp).f64 d:t, a:t, b:t, c:t", OpClass::fp64, bind_fma, kNaNNote},
    {"mad(.rn|.rz|.rm|.rp).f64 d:t, a:t, b:t, c:t", OpClass::fp64, bind_fma, "the same as fma"},
    {"div(.rn|.rz|.rm|.rp).f64 d:t, a:t, b:t", OpClass::fp64, bind_binary<Div>, kNaNNote},
    {"rcp(.rn|.rz|.rm|.rp).f64 d:t, a:t", OpClass::fp64, bind_unary<Rcp>, kNaNNote},
    {"sqrt(.rn|.rz|.rm|.rp).f64 d:t, a:t", OpClass::fp64, bind_unary<Sqrt>, kNaNNote},
    {"rcp.approx.ftz.f64 d:t, a:t", OpClass::fp64, bind_unary<Gross<Rcp>>, "upper 32 bits only"},
    {"rsqrt.approx.ftz.f64 d:t, a:t", OpClass::fp64, bind_unary<Gross<Rsqrt>>, "upper 32 bits only"},
    {"rsqrt.approx.f64 d:t, a:t", OpClass::fp64, bind_unary<Rsqrt>, "within 1 ulp"},
    {"abs.f64 d:t, a:t", OpClass::fp64, bind_unary<Abs>},
    {"neg.f64 d:t, a:t", OpClass::fp64, bind_unary<Neg>},
    {"copysign.f64 d:t, a:t, b:t", OpClass::fp64, bind_binary<CopySign>},
    {"min.f64 d:t, a:t, b:t", OpClass::fp64, bind_binary<MinMax<false>>},
    {"max.f64 d:t, a:t, b:t", OpClass::fp64, bind_binary<MinMax<true>>},
};

}  // namespace

std::span<const OpcodeRow> float64_rows() {
  return kRows;
}

}  // namespace gpuforge::sim
