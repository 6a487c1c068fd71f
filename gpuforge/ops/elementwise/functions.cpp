// The table. A function is a row here with its loops for the cpu, a struct of the same name in functions.cuh,
// and a case in elementwise_reference.cpp; the tests compare the three.
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "gpuforge/base/suggest.h"
#include "gpuforge/ops/elementwise/elementwise.h"
#include "gpuforge/ops/elementwise/host_functions.h"

namespace gpuforge::ops {
namespace {

template <typename T>
auto bits_of(T value) {
  return static_cast<std::make_unsigned_t<T>>(value);
}

template <typename T>
struct Quotient {
  T quotient;
  T remainder;
};
template <typename T>
Quotient<T> divide_down(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return {0, 0};
    if (b == -1) return {static_cast<T>(0 - bits_of(a)), 0};
    const T quotient = a / b;
    const T remainder = a % b;
    const bool down = remainder != 0 && (remainder < 0) != (b < 0);
    return {static_cast<T>(quotient - down), static_cast<T>(down ? remainder + b : remainder)};
  } else {
    T remainder = std::fmod(a, b);
    if (b == 0) return {a / b, remainder};
    T quotient = (a - remainder) / b;
    if (remainder != 0) {
      if ((b < 0) != (remainder < 0)) {
        remainder += b;
        quotient -= 1;
      }
    } else {
      remainder = std::copysign(T(0), b);
    }
    if (quotient == 0) return {std::copysign(T(0), a / b), remainder};
    const T whole = std::floor(quotient);
    return {quotient - whole > T(0.5) ? whole + 1 : whole, remainder};
  }
}

template <typename T>
T power(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? ((b & 1) != 0 ? -1 : 1) : 0;
    auto result = bits_of(T(1)), square = bits_of(a);
    for (auto rest = bits_of(b); rest != 0; rest >>= 1) {
      if ((rest & 1) != 0) result *= square;
      square *= square;
    }
    return static_cast<T>(result);
  } else {
    return std::pow(a, b);
  }
}

template <typename T>
T larger(T a, T b) {
  return a > b || a != a ? a : b;
}
template <typename T>
T smaller(T a, T b) {
  return a < b || a != a ? a : b;
}
template <typename T>
T logistic(T a) {
  const T small = std::exp(-std::abs(a));
  return (a < 0 ? small : T(1)) / (T(1) + small);
}

// F is a captureless lambda; the loops are plain, so that the compiler makes vectors of them.
template <typename F, typename T>
void unary(void* out, const void* a, const void*, const void*, std::size_t count) {
  auto* __restrict to = static_cast<decltype(F{}(T{}))*>(out);
  const auto* __restrict x = static_cast<const T*>(a);
  for (std::size_t i = 0; i < count; ++i) to[i] = F{}(x[i]);
}
template <typename F, typename T>
void binary(void* out, const void* a, const void* b, const void*, std::size_t count) {
  auto* __restrict to = static_cast<decltype(F{}(T{}, T{}))*>(out);
  const auto* __restrict x = static_cast<const T*>(a);
  const auto* __restrict y = static_cast<const T*>(b);
  for (std::size_t i = 0; i < count; ++i) to[i] = F{}(x[i], y[i]);
}
template <typename F, typename First, typename T>
void ternary(void* out, const void* a, const void* b, const void* c, std::size_t count) {
  auto* __restrict to = static_cast<T*>(out);
  const auto* __restrict x = static_cast<const First*>(a);
  const auto* __restrict y = static_cast<const T*>(b);
  const auto* __restrict z = static_cast<const T*>(c);
  for (std::size_t i = 0; i < count; ++i) to[i] = F{}(x[i], y[i], z[i]);
}

template <typename F>
constexpr HostFunction kUnary{unary<F, float>, unary<F, double>, unary<F, std::int32_t>,
                              unary<F, std::int64_t>};
template <typename F>
constexpr HostFunction kUnaryFloat{unary<F, float>, unary<F, double>, nullptr, nullptr};
template <typename F>
constexpr HostFunction kUnaryWhole{nullptr, nullptr, unary<F, std::int32_t>, unary<F, std::int64_t>};
template <typename F>
constexpr HostFunction kBinary{binary<F, float>, binary<F, double>, binary<F, std::int32_t>,
                               binary<F, std::int64_t>};
template <typename F>
constexpr HostFunction kBinaryFloat{binary<F, float>, binary<F, double>, nullptr, nullptr};
template <typename F>
constexpr HostFunction kBinaryWhole{nullptr, nullptr, binary<F, std::int32_t>, binary<F, std::int64_t>};
template <typename F>
constexpr HostFunction kClamp{ternary<F, float, float>, ternary<F, double, double>,
                              ternary<F, std::int32_t, std::int32_t>, ternary<F, std::int64_t, std::int64_t>};
template <typename F>
constexpr HostFunction kWhere{ternary<F, std::int32_t, float>, ternary<F, std::int32_t, double>,
                              ternary<F, std::int32_t, std::int32_t>, ternary<F, std::int32_t, std::int64_t>};

template <typename F>
constexpr Function f1(std::string_view name, std::string_view alias, Rule rule, std::string_view summary, F) {
  return {name, alias, 1, rule, summary, &kUnary<F>};
}
template <typename F>
constexpr Function float1(std::string_view name, std::string_view alias, std::string_view summary, F) {
  return {name, alias, 1, Rule::floating, summary, &kUnaryFloat<F>};
}
template <typename F>
constexpr Function f2(std::string_view name, std::string_view alias, Rule rule, std::string_view summary, F) {
  return {name, alias, 2, rule, summary, &kBinary<F>};
}
template <typename F>
constexpr Function whole1(std::string_view name, std::string_view alias, Rule rule, std::string_view summary,
                          F) {
  return {name, alias, 1, rule, summary, &kUnaryWhole<F>};
}
template <typename F>
constexpr Function whole2(std::string_view name, Rule rule, std::string_view summary, F) {
  return {name, "", 2, rule, summary, &kBinaryWhole<F>};
}

struct Wrapping {
  template <typename T, typename F>
  static T of(T a, T b, F f) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(f(bits_of(a), bits_of(b)));
    } else {
      return f(a, b);
    }
  }
};

template <typename T, typename F>
T of_floats(T a, F f) {
  if constexpr (std::is_integral_v<T>) {
    return a;
  } else {
    return f(a);
  }
}

constexpr auto kAdd = [](auto x, auto y) { return x + y; };
constexpr auto kSub = [](auto x, auto y) { return x - y; };
constexpr auto kMul = [](auto x, auto y) { return x * y; };

constexpr auto kNegated = [](auto zero, auto x) {
  if constexpr (std::is_floating_point_v<decltype(x)>) {
    return -x;
  } else {
    return zero - x;
  }
};
using Truth = std::int32_t;
constexpr auto kChosen = [](Truth condition, auto a, auto b) { return condition != 0 ? a : b; };
constexpr auto kClamped = [](auto a, auto low, auto high) { return smaller(larger(a, low), high); };
constexpr auto kQuotient = [](auto a, auto b) { return a / b; };

using enum Rule;
constexpr Function kTable[] = {
    f2("add", "", number, "a + b", [](auto a, auto b) { return Wrapping::of(a, b, kAdd); }),
    f2("sub", "subtract", signed_only, "a - b", [](auto a, auto b) { return Wrapping::of(a, b, kSub); }),
    f2("mul", "multiply", number, "a * b", [](auto a, auto b) { return Wrapping::of(a, b, kMul); }),
    {"div", "divide", 2, division, "a / b, in floats",
     &kBinaryFloat<std::remove_const_t<decltype(kQuotient)>>},
    f2("floor_div", "floor_divide", not_bool, "a / b rounded down",
       [](auto a, auto b) { return divide_down(a, b).quotient; }),
    f2("mod", "remainder", not_bool, "what floor_div leaves; has the sign of b",
       [](auto a, auto b) { return divide_down(a, b).remainder; }),
    f2("pow", "power", not_bool, "a to the power of b", [](auto a, auto b) { return power(a, b); }),
    f2("maximum", "", number, "the larger of a and b", [](auto a, auto b) { return larger(a, b); }),
    f2("minimum", "", number, "the smaller of a and b", [](auto a, auto b) { return smaller(a, b); }),
    f2("eq", "equal", comparison, "a == b", [](auto a, auto b) -> Truth { return a == b; }),
    f2("ne", "not_equal", comparison, "a != b", [](auto a, auto b) -> Truth { return a != b; }),
    f2("lt", "less", comparison, "a < b", [](auto a, auto b) -> Truth { return a < b; }),
    f2("le", "less_equal", comparison, "a <= b", [](auto a, auto b) -> Truth { return a <= b; }),
    f2("gt", "greater", comparison, "a > b", [](auto a, auto b) -> Truth { return a > b; }),
    f2("ge", "greater_equal", comparison, "a >= b", [](auto a, auto b) -> Truth { return a >= b; }),
    whole2("logical_and", logical, "a and b", [](auto a, auto b) { return a & b; }),
    whole2("logical_or", logical, "a or b", [](auto a, auto b) { return a | b; }),
    whole2("logical_xor", logical, "a or b, not both", [](auto a, auto b) { return a ^ b; }),
    whole1("logical_not", "", logical, "not a", [](auto a) { return a ^ 1; }),
    whole2("bitwise_and", bits, "a & b", [](auto a, auto b) { return a & b; }),
    whole2("bitwise_or", bits, "a | b", [](auto a, auto b) { return a | b; }),
    whole2("bitwise_xor", bits, "a ^ b", [](auto a, auto b) { return a ^ b; }),
    whole1("bitwise_not", "invert", bits, "~a", [](auto a) { return ~a; }),
    {"where", "", 3, choice, "b where a is not 0, c elsewhere",
     &kWhere<std::remove_const_t<decltype(kChosen)>>},
    {"clamp", "clip", 3, number, "a, at least b and at most c",
     &kClamp<std::remove_const_t<decltype(kClamped)>>},
    f1("neg", "negative", signed_only, "-a",
       [](auto a) { return Wrapping::of(decltype(a)(0), a, kNegated); }),
    f1("abs", "absolute", number, "|a|",
       [](auto a) {
         if constexpr (std::is_integral_v<decltype(a)>)
           return static_cast<decltype(a)>(a < 0 ? 0 - bits_of(a) : bits_of(a));
         else
           return std::abs(a);
       }),
    f1("sign", "", signed_only, "-1, 0 or 1",
       [](auto a) {
         return a > 0 ? decltype(a)(1) : a < 0 ? decltype(a)(-1) : a != a ? a : decltype(a)(0);
       }),
    f1("square", "", not_bool, "a * a", [](auto a) { return Wrapping::of(a, a, kMul); }),
    f1("floor", "", number, "the whole number at or below a",
       [](auto a) { return of_floats(a, [](auto x) { return std::floor(x); }); }),
    f1("ceil", "", number, "the whole number at or above a",
       [](auto a) { return of_floats(a, [](auto x) { return std::ceil(x); }); }),
    f1("round", "rint", number, "the nearest whole number, halves to even",
       [](auto a) { return of_floats(a, [](auto x) { return std::nearbyint(x); }); }),
    f1("relu", "", number, "a where it is above 0, else 0", [](auto a) { return larger(a, decltype(a)(0)); }),
    f1("isnan", "", question, "whether a is NaN", [](auto a) -> Truth { return a != a; }),
    f1("isinf", "", question, "whether a is an infinity",
       [](auto a) -> Truth { return std::isinf(static_cast<double>(a)); }),
    f1("isfinite", "", question, "whether a is neither an infinity nor NaN",
       [](auto a) -> Truth { return std::isfinite(static_cast<double>(a)); }),
    float1("exp", "", "e to the power of a", [](auto a) { return std::exp(a); }),
    float1("exp2", "", "2 to the power of a", [](auto a) { return std::exp2(a); }),
    float1("expm1", "", "exp(a) - 1, with its digits near 0", [](auto a) { return std::expm1(a); }),
    float1("log", "", "the natural logarithm", [](auto a) { return std::log(a); }),
    float1("log2", "", "the logarithm to base 2", [](auto a) { return std::log2(a); }),
    float1("log1p", "", "log(1 + a), with its digits near 0", [](auto a) { return std::log1p(a); }),
    float1("sqrt", "", "the square root", [](auto a) { return std::sqrt(a); }),
    float1("rsqrt", "", "1 / sqrt(a)", [](auto a) { return 1 / std::sqrt(a); }),
    float1("reciprocal", "", "1 / a, in floats", [](auto a) { return 1 / a; }),
    float1("sin", "", "the sine of a in radians", [](auto a) { return std::sin(a); }),
    float1("cos", "", "the cosine of a in radians", [](auto a) { return std::cos(a); }),
    float1("tanh", "", "the hyperbolic tangent", [](auto a) { return std::tanh(a); }),
    float1("erf", "", "the error function", [](auto a) { return std::erf(a); }),
    float1("sigmoid", "", "1 / (1 + exp(-a))", [](auto a) { return logistic(a); }),
    float1("silu", "swish", "a * sigmoid(a)", [](auto a) { return a * logistic(a); }),
    float1("gelu", "", "a / 2 * (1 + erf(a / sqrt(2)))",
           [](auto a) {
             using T = decltype(a);
             return T(0.5) * a * std::erfc(a * T(-0.70710678118654752440));
           }),
};

}  // namespace

std::span<const Function> functions() {
  return kTable;
}

const Function& find_function(std::string_view name) {
  for (const Function& function : functions()) {
    if (function.name == name || (!function.alias.empty() && function.alias == name)) return function;
  }
  std::vector<std::string> known;
  for (const Function& function : functions()) known.emplace_back(function.name);
  throw Error(ErrorCode::invalid_argument,
              format_text("elementwise: there is no function '{}'{}", name, did_you_mean(name, known)));
}

DType compute_dtype(DType dtype) {
  if (is_floating(dtype)) return dtype == DType::f64 ? DType::f64 : DType::f32;
  return dtype == DType::i64 ? DType::i64 : DType::i32;
}

HostLoop loop_for(const HostFunction& function, DType compute) {
  const HostLoop loop = compute == DType::f32   ? function.f32
                        : compute == DType::f64 ? function.f64
                        : compute == DType::i64 ? function.i64
                                                : function.i32;
  GPUFORGE_ASSERT(loop != nullptr, "elementwise: a function has no loop for {}", name(compute));
  return loop;
}

}  // namespace gpuforge::ops
