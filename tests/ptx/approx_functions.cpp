#include "tests/ptx/approx_functions.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gpuforge/base/format.h"
#include "tests/ptx/random.h"

namespace gpuforge::ptx_files {
namespace {

using Real = long double;
using Kind = Bound::Kind;

constexpr FloatFormat kF16{"f16", 16, 11, -14};
constexpr FloatFormat kBf16{"bf16", 16, 8, -126};
constexpr FloatFormat kF32{"f32", 32, 24, -126};
constexpr FloatFormat kF64{"f64", 64, 53, -1022};
constexpr FloatFormat kUpperF64{"f64", 64, 21, -1022, 32};  // 1.11.20: the upper word of an f64

// ---- What they compute ---------------------------------------------------------------------------------

Real exp2_of(Real a, Real) {
  return std::exp2(a);
}
Real log2_of(Real a, Real) {
  return a == 0 ? -HUGE_VALL : std::log2(a);
}
Real sine_of(Real a, Real) {
  return std::sin(a);
}
Real cosine_of(Real a, Real) {
  return std::cos(a);
}
Real tanh_of(Real a, Real) {
  return std::tanh(a);
}
Real reciprocal_of(Real a, Real) {
  return 1 / a;
}
Real root_of(Real a, Real) {
  return std::sqrt(a);
}
Real reciprocal_root_of(Real a, Real) {
  return 1 / std::sqrt(a);
}
Real quotient_of(Real a, Real b) {
  return a / b;
}
bool beyond_2_126(Real b) {
  return std::fabs(b) > 0x1p126L && std::isfinite(b);
}
Real quotient_up_to_2_126(Real a, Real b) {
  return beyond_2_126(b) ? a * std::copysign(0.0L, b) : a / b;
}

// ---- How well ------------------------------------------------------------------------------------------

template <Kind K, int Bits1000>  // 2^-(Bits1000 / 1000)
std::optional<Bound> power_of_two(Real, Real) {
  return Bound{K, std::exp2(-Bits1000 / 1000.0L)};
}
template <int Half>
std::optional<Bound> half_ulps(Real, Real) {
  return Bound{Kind::ulp, Half / 2.0L};
}
std::optional<Bound> logarithm_bound(Real a, Real) {
  return Bound{a > 0.5L && a < 2 ? Kind::absolute : Kind::relative, 0x1p-22L};
}
std::optional<Bound> sine_bound(Real a, Real) {
  if (std::fabs(a) <= 2 * std::numbers::pi_v<Real>) return Bound{Kind::absolute, std::exp2(-20.5L)};
  if (std::fabs(a) <= 100 * std::numbers::pi_v<Real>) return Bound{Kind::absolute, std::exp2(-14.7L)};
  return std::nullopt;
}
std::optional<Bound> quotient_bound(Real, Real b) {
  if (beyond_2_126(b)) return Bound{Kind::ulp, 0};
  if (std::fabs(b) < 0x1p-126L && b != 0) return std::nullopt;
  return Bound{Kind::ulp, 2};
}

constexpr std::string_view kEx2 = "PTX ISA, ex2: 2 ulp from the correctly rounded result";
constexpr std::string_view kEx2Half = "PTX ISA, half precision ex2: relative error 2^-9.9 (f16), 2^-7 (bf16)";
constexpr std::string_view kLg2 = "PTX ISA, lg2: absolute error 2^-22 in (0.5, 2), else relative error 2^-22";
constexpr std::string_view kSine =
    "PTX ISA, sin and cos: absolute error 2^-20.5 up to 2 pi, 2^-14.7 up to 100 pi, nothing beyond";
constexpr std::string_view kTanh = "PTX ISA, tanh: relative error 2^-11";
constexpr std::string_view kTanhHalf =
    "PTX ISA, half precision tanh: absolute error 2^-10.987 (f16), 2^-8 (bf16)";
constexpr std::string_view kRcp = "PTX ISA, rcp: 1 ulp";
constexpr std::string_view kSqrt = "PTX ISA, sqrt: relative error 2^-23";
constexpr std::string_view kRsqrt = "PTX ISA, rsqrt: relative error 2^-22.9";
constexpr std::string_view kRsqrt64 =
    "CUDA C++ Programming Guide, rsqrt(double): 1 ulp; PTX ISA says nothing";
constexpr std::string_view kGross =
    "PTX ISA: a 1.11.20 number of a 1.11.20 operand, no bound; held to 2 units of those 20 bits";
constexpr std::string_view kDivApprox =
    "PTX ISA, div: 2 ulp for divisors from 2^-126 to 2^126; 0, or NaN of an infinity, above";
constexpr std::string_view kDivFull = "PTX ISA, div.full: 2 ulp";

constexpr ApproxFunction kFunctions[] = {
    {"ex2.approx.f32", &kF32, 1, false, false, exp2_of, half_ulps<5>, kEx2},
    {"ex2.approx.ftz.f32", &kF32, 1, false, true, exp2_of, half_ulps<5>, kEx2},
    {"lg2.approx.f32", &kF32, 1, false, false, log2_of, logarithm_bound, kLg2},
    {"lg2.approx.ftz.f32", &kF32, 1, false, true, log2_of, logarithm_bound, kLg2},
    {"sin.approx.f32", &kF32, 1, false, false, sine_of, sine_bound, kSine},
    {"sin.approx.ftz.f32", &kF32, 1, false, true, sine_of, sine_bound, kSine},
    {"cos.approx.f32", &kF32, 1, false, false, cosine_of, sine_bound, kSine},
    {"cos.approx.ftz.f32", &kF32, 1, false, true, cosine_of, sine_bound, kSine},
    {"tanh.approx.f32", &kF32, 1, false, false, tanh_of, power_of_two<Kind::relative, 11000>, kTanh},
    {"rcp.approx.f32", &kF32, 1, false, false, reciprocal_of, half_ulps<2>, kRcp},
    {"rcp.approx.ftz.f32", &kF32, 1, false, true, reciprocal_of, half_ulps<2>, kRcp},
    {"sqrt.approx.f32", &kF32, 1, false, false, root_of, power_of_two<Kind::relative, 23000>, kSqrt},
    {"sqrt.approx.ftz.f32", &kF32, 1, false, true, root_of, power_of_two<Kind::relative, 23000>, kSqrt},
    {"rsqrt.approx.f32", &kF32, 1, false, false, reciprocal_root_of, power_of_two<Kind::relative, 22900>,
     kRsqrt},
    {"rsqrt.approx.ftz.f32", &kF32, 1, false, true, reciprocal_root_of, power_of_two<Kind::relative, 22900>,
     kRsqrt},
    {"div.approx.f32", &kF32, 2, false, false, quotient_up_to_2_126, quotient_bound, kDivApprox},
    {"div.approx.ftz.f32", &kF32, 2, false, true, quotient_up_to_2_126, quotient_bound, kDivApprox},
    {"div.full.f32", &kF32, 2, false, false, quotient_of, half_ulps<4>, kDivFull},
    {"div.full.ftz.f32", &kF32, 2, false, true, quotient_of, half_ulps<4>, kDivFull},
    {"rcp.approx.ftz.f64", &kUpperF64, 1, false, true, reciprocal_of, half_ulps<4>, kGross},
    {"rsqrt.approx.ftz.f64", &kUpperF64, 1, false, true, reciprocal_root_of, half_ulps<4>, kGross},
    {"rsqrt.approx.f64", &kF64, 1, false, false, reciprocal_root_of, half_ulps<2>, kRsqrt64},
    {"ex2.approx.f16", &kF16, 1, false, false, exp2_of, power_of_two<Kind::relative, 9900>, kEx2Half},
    {"ex2.approx.f16x2", &kF16, 1, true, false, exp2_of, power_of_two<Kind::relative, 9900>, kEx2Half},
    {"ex2.approx.ftz.bf16", &kBf16, 1, false, true, exp2_of, power_of_two<Kind::relative, 7000>, kEx2Half},
    {"ex2.approx.ftz.bf16x2", &kBf16, 1, true, true, exp2_of, power_of_two<Kind::relative, 7000>, kEx2Half},
    {"tanh.approx.f16", &kF16, 1, false, false, tanh_of, power_of_two<Kind::absolute, 10987>, kTanhHalf},
    {"tanh.approx.f16x2", &kF16, 1, true, false, tanh_of, power_of_two<Kind::absolute, 10987>, kTanhHalf},
    {"tanh.approx.bf16", &kBf16, 1, false, false, tanh_of, power_of_two<Kind::absolute, 8000>, kTanhHalf},
    {"tanh.approx.bf16x2", &kBf16, 1, true, false, tanh_of, power_of_two<Kind::absolute, 8000>, kTanhHalf},
};

// ---- Numbers and their bits ----------------------------------------------------------------------------

std::uint64_t sign_of(const FloatFormat& format) {
  return std::uint64_t{1} << (format.bits - 1);
}
int stored_bits(const FloatFormat& format) {  // of the mantissa
  return format.precision - 1 + format.unread_bits;
}
std::uint64_t infinity_of(const FloatFormat& format) {
  const std::uint64_t one = std::uint64_t{1} << stored_bits(format);
  return sign_of(format) - one;
}

// Towards zero; finite values within the format's range only.
std::uint64_t bits_of(const FloatFormat& format, Real value) {
  const std::uint64_t sign = std::signbit(value) ? sign_of(format) : 0;
  const Real magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), format.least_exponent);
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(magnitude, stored_bits(format) - exponent));
  const auto biased = static_cast<std::uint64_t>(exponent - format.least_exponent);
  return sign | (mantissa + (biased << stored_bits(format)));  // the leading one counts the exponent up
}

std::vector<std::uint64_t> edges(const FloatFormat& format) {
  const std::uint64_t infinity = infinity_of(format);
  const std::uint64_t least_normal = std::uint64_t{1} << stored_bits(format);
  const std::uint64_t one = bits_of(format, 1), quiet = least_normal / 2;
  std::vector<std::uint64_t> values{0,
                                    1,
                                    least_normal / 2 + 1,
                                    least_normal - 1,
                                    least_normal,
                                    least_normal + 1,
                                    bits_of(format, 0.5L),
                                    one - 1,
                                    one,
                                    one + 1,
                                    bits_of(format, 2),
                                    bits_of(format, 3),
                                    infinity - 1,
                                    infinity,
                                    infinity + 1,
                                    infinity + quiet,
                                    infinity + quiet + 5,
                                    sign_of(format) - 1};
  for (std::size_t i = 0, count = values.size(); i < count; ++i)
    values.push_back(values[i] | sign_of(format));
  return values;
}

// Where the functions turn: whole numbers, multiples of pi/4, the neighbourhood of 1, steps of tanh.
std::vector<Real> interesting_values() {
  std::vector<Real> values;
  for (int i = 1; i <= 160; ++i) values.insert(values.end(), {i * 1.0L, i - 0.5L, i - 0.125L});
  for (int i = 1; i <= 400; i += i < 16 ? 1 : 7) values.push_back(std::numbers::pi_v<Real> * i / 4);
  for (int i = 1; i <= 23; ++i)
    values.insert(values.end(), {1 + std::ldexp(1.0L, -i), 1 - std::ldexp(1.0L, -i)});
  for (int i = 1; i <= 60; ++i) values.push_back(i * 0.0731L);
  for (std::size_t i = 0, count = values.size(); i < count; ++i) values.push_back(-values[i]);
  return values;
}

std::vector<std::uint64_t> unary_inputs(const FloatFormat& format) {
  std::vector<std::uint64_t> inputs = edges(format);
  Random random;
  const std::uint64_t step = std::uint64_t{1} << stored_bits(format);
  const std::uint64_t exponents = infinity_of(format) / step;
  const std::uint64_t every = exponents > 1000 ? 6 : 1;  // f64 has 2046 of them
  const int of_each = exponents < 100 ? 10 : 2;
  for (std::uint64_t exponent = 0; exponent < exponents; exponent += every)
    for (int i = 0; i < of_each; ++i)
      for (const std::uint64_t sign : {std::uint64_t{0}, sign_of(format)})
        inputs.push_back(sign | (exponent * step + random.next() % step));
  const Real largest = value_of(format, infinity_of(format) - 1, false);
  for (const Real value : interesting_values())
    if (std::fabs(value) <= largest) inputs.push_back(bits_of(format, value));
  return inputs;
}

// Pairs: the edges with each other, then quotients of moderate size, then all others.
std::vector<std::uint64_t> binary_inputs(const FloatFormat& format) {
  std::vector<std::uint64_t> inputs;
  const std::vector<std::uint64_t> chosen = edges(format);
  for (const std::uint64_t a : chosen)
    for (const std::uint64_t b : chosen) inputs.insert(inputs.end(), {a, b});
  Random random;
  const std::uint64_t step = std::uint64_t{1} << stored_bits(format);
  for (int i = 0; i < 600; ++i) {
    const std::uint64_t exponent = 20 + random.next() % 210;
    for (const int operand : {0, 1})
      inputs.push_back((random.next() & sign_of(format)) |
                       ((exponent + (operand == 0 ? random.next() % 20 : 0)) * step + random.next() % step));
  }
  for (int i = 0; i < 600; ++i)
    for ([[maybe_unused]] const int operand : {0, 1})
      inputs.push_back((random.next() & sign_of(format)) | random.next() % infinity_of(format));
  return inputs;
}

bool is_nan_or_infinite_or_zero(const FloatFormat& format, std::uint64_t bits, bool ftz) {
  const Real value = value_of(format, bits, ftz);
  return !std::isfinite(value) || value == 0;
}

// The distance of two neighbours at `value`.
Real unit_at(const FloatFormat& format, Real value) {
  const int exponent =
      value == 0 ? format.least_exponent : std::max(std::ilogb(value), format.least_exponent);
  return std::ldexp(1.0L, exponent - format.precision + 1);
}

Real allowed(const FloatFormat& format, const Bound& bound, Real exact) {
  if (bound.kind == Kind::ulp) return bound.size * unit_at(format, exact);
  if (bound.kind == Kind::absolute) return bound.size;
  // A subnormal result has no more than its last place to be right in.
  const bool subnormal = std::fabs(exact) < std::ldexp(1.0L, format.least_exponent);
  return bound.size * std::fabs(exact) + (subnormal ? unit_at(format, exact) : 0);
}

}  // namespace

std::span<const ApproxFunction> approx_functions() {
  return kFunctions;
}

std::vector<std::uint64_t> approx_inputs(const FloatFormat& format, int operands) {
  return operands == 1 ? unary_inputs(format) : binary_inputs(format);
}

Real value_of(const FloatFormat& format, std::uint64_t bits, bool ftz) {
  const Real sign = (bits & sign_of(format)) != 0 ? -1 : 1;
  const std::uint64_t magnitude = (bits & (sign_of(format) - 1)) >> format.unread_bits << format.unread_bits;
  const std::uint64_t infinity = infinity_of(format);
  if (magnitude > infinity) return std::nanl("");
  if (magnitude == infinity) return sign * HUGE_VALL;
  const std::uint64_t one = std::uint64_t{1} << stored_bits(format);
  if (magnitude < one)
    return ftz ? sign * 0 : sign * std::ldexp(Real(magnitude), format.least_exponent - stored_bits(format));
  const auto exponent = static_cast<int>(magnitude / one) - 1 + format.least_exponent;
  return sign * std::ldexp(Real(one + magnitude % one), exponent - stored_bits(format));
}

bool is_special(const ApproxFunction& function, std::span<const std::uint64_t> operands) {
  for (const std::uint64_t operand : operands)
    if (is_nan_or_infinite_or_zero(*function.format, operand, function.ftz)) return true;
  const Real a = value_of(*function.format, operands[0], function.ftz);
  const Real b = operands.size() > 1 ? value_of(*function.format, operands[1], function.ftz) : 0;
  const auto bound = function.bound(a, b);
  return std::isnan(function.exact(a, b)) || (bound && bound->size == 0);
}

std::string beyond_bound(const ApproxFunction& function, std::span<const std::uint64_t> operands,
                         std::uint64_t result) {
  const FloatFormat& format = *function.format;
  const Real a = value_of(format, operands[0], function.ftz);
  const Real b = operands.size() > 1 ? value_of(format, operands[1], function.ftz) : 0;
  const Real exact = function.exact(a, b);
  const Real got = value_of(format, result, false);
  if (std::isnan(exact)) return std::isnan(got) ? "" : "a NaN is expected";
  if ((result & ((std::uint64_t{1} << format.unread_bits) - 1)) != 0) return "the low bits are not zero";
  const auto bound = function.bound(a, b);
  if (!bound) return "";
  if (std::isnan(got)) return "a NaN";
  if (std::isinf(exact) || (exact == 0 && a == 0))
    return got == exact ? "" : "not the exact zero or infinity";
  const Real least_normal = std::ldexp(1.0L, format.least_exponent);
  const Real margin = allowed(format, *bound, exact);
  if (function.ftz && got != 0 && std::fabs(got) < least_normal) return "a subnormal number";
  if (function.ftz && got == 0 && std::fabs(exact) - margin < least_normal) return "";
  // What overflows is as far as the power of two behind the largest number.
  const Real end = std::ldexp(1.0L, 2 - format.least_exponent);
  const Real wanted = std::clamp(exact, -end, end), found = std::clamp(got, -end, end);
  const Real distance = std::fabs(found - wanted);
  if (distance <= margin) return "";
  return format_text("exact {}, off by {}, allowed {}", static_cast<double>(exact),
                     static_cast<double>(distance), static_cast<double>(margin));
}

}  // namespace gpuforge::ptx_files
