#include "gpuforge/base/half.h"

#include <cmath>

#include "gpuforge/sim/lanes/float_lanes_for_tests.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

using float_tests::check_product;
using float_tests::check_values;
using float_tests::find;
using float_tests::hidden;
using float_tests::RoundingForTests;
using float_tests::with_random;
using Bits = std::uint32_t;

// One of the two formats, by way of the library's own conversions.
struct Format {
  bool bfloat = false;
  bool ftz = false;

  Bits infinity() const { return bfloat ? 0x7f80u : 0x7c00u; }
  Bits flushed(Bits bits) const { return ftz && (bits & infinity()) == 0 ? bits & 0x8000u : bits; }
  bool is_nan(Bits bits) const { return (bits & 0x7fffu) > infinity(); }
  double value(Bits bits) const {
    const auto narrow = static_cast<std::uint16_t>(flushed(bits));
    return bfloat ? BFloat16{narrow}.to_double() : Half{narrow}.to_double();
  }
  // `value` may be cut off to odd; both conversions round to nearest.
  Bits rounded(double value) const {
    const Bits bits = flushed(bfloat ? BFloat16::from(value).bits : Half::from(value).bits);
    // Flushed is what is tiny once rounded to 11 bits, with an exponent that has room.
    const bool tiny = ftz && !bfloat && Half::from(value * 0x1p8).to_double() * 0x1p-8 < 0x1p-14 &&
                      Half::from(value * 0x1p8).to_double() * 0x1p-8 > -0x1p-14;
    return tiny ? bits & 0x8000u : bits;
  }
  std::vector<Bits> edges() const {
    const Bits one = bfloat ? 0x3f80u : 0x3c00u;
    const Bits least_normal = infinity() & (~infinity() + 1);
    std::vector<Bits> values;
    for (const Bits bits : {0u, 1u, 2u, 3u, least_normal / 2, least_normal - 1, least_normal,
                            least_normal + 1, one - 1, one, one + 1, one + least_normal, one / 2, one / 2 + 3,
                            infinity() - 1, infinity(), infinity() + 1, 0x7fffu}) {
      values.push_back(bits);
      values.push_back(bits | 0x8000u);
    }
    return values;
  }
};

// a * b + c cut off to a double whose last bit says whether anything was lost: the exact result to any
// narrower rounding.
double odd_fma(double a, double b, double c) {
  const RoundingForTests rounding("rz");
  std::feclearexcept(FE_INEXACT);
  const double result = hidden(std::fma(hidden(a), hidden(b), hidden(c)));
  const bool lost = std::fetestexcept(FE_INEXACT) != 0 && std::isfinite(result);
  return lost ? std::bit_cast<double>(std::bit_cast<std::uint64_t>(result) | 1u) : result;
}
// Zeros of an exact sum take their sign from rounding to nearest.
double exact_fma(double a, double b, double c) {
  const double result = std::fma(a, b, c);
  return result == 0 || std::isnan(result) ? result : odd_fma(a, b, c);
}

Bits finished(Bits bits, const Format& format, std::string_view finish) {
  if (format.is_nan(bits)) return finish == ".sat" ? 0 : 0x7fffu;
  const Bits one = format.bfloat ? 0x3f80u : 0x3c00u;
  if (!finish.empty() && (bits & 0x8000u) != 0) return 0;
  return finish == ".sat" && bits > one ? one : bits;
}

std::string type_name(const Format& format, bool packed) {
  return std::string(format.bfloat ? ".bf16" : ".f16") + (packed ? "x2" : "");
}

std::vector<Bits> paired(const std::vector<Bits>& values) {
  std::vector<Bits> pairs;
  for (std::size_t i = 0; i < values.size(); ++i)
    pairs.push_back(values[i] | (values[(i * 5 + 2) % values.size()] << 16));
  return pairs;
}
template <class Function, class... Operands>
Bits both(Function function, Operands... operands) {
  return function((operands & 0xffffu)...) | (function((operands >> 16)...) << 16);
}

const Format kFormats[] = {{false, false}, {false, true}, {true, false}};

TEST(HalfLanes, AddSubMul) {
  for (const Format& format : kFormats)
    for (const std::string_view finish : {"", ".sat"})
      for (const std::string_view name : {"add", "sub", "mul"})
        for (const bool packed : {false, true}) {
          const std::string text = std::string(name) + (packed ? ".rn" : "") + (format.ftz ? ".ftz" : "") +
                                   std::string(finish) + type_name(format, packed);
          if (format.bfloat && !finish.empty()) {
            EXPECT_EQ(find(half_rows(), text, 3).full, nullptr);
            continue;
          }
          const auto one = [&](Bits a, Bits b) {
            const double x = format.value(a);
            const double y = format.value(b);
            const double exact =
                name == "mul" ? exact_fma(x, y, -0.0) : exact_fma(x, 1.0, name == "sub" ? -y : y);
            // A zero product keeps its sign through + -0.
            return finished(format.rounded(exact), format, finish);
          };
          auto values = with_random<Bits>(format.edges(), 60, 0xffffu);
          if (packed) values = paired(values);
          check_product<Bits>(find(half_rows(), text, 3), text, values, values,
                              [&](Bits a, Bits b) { return packed ? both(one, a, b) : one(a, b); });
        }
}

TEST(HalfLanes, FmaRoundsOnce) {
  for (const Format& format : kFormats)
    for (const std::string_view finish : {"", ".sat", ".relu"})
      for (const bool packed : {false, true}) {
        const std::string text = std::string("fma.rn") + (format.ftz ? ".ftz" : "") + std::string(finish) +
                                 type_name(format, packed);
        if (format.bfloat && finish == ".sat") {
          EXPECT_EQ(find(half_rows(), text, 4).full, nullptr);
          continue;
        }
        const auto one = [&](Bits a, Bits b, Bits c) {
          const double exact = exact_fma(format.value(a), format.value(b), format.value(c));
          return finished(format.rounded(exact), format, finish);
        };
        auto values = with_random<Bits>(format.edges(), 40, 0xffffu);
        if (packed) values = paired(values);
        check_product<Bits>(
            find(half_rows(), text, 4), text, values, values, values,
            [&](Bits a, Bits b, Bits c) { return packed ? both(one, a, b, c) : one(a, b, c); });
      }
}

TEST(HalfLanes, FmaIsNotDoublyRounded) {
  // 1.5 * 683/1024 is the middle of 1 and the next f16; the addend, the least subnormal, is half an ulp of an
  // f32 there, so a result rounded to f32 first would be the middle again, and fall to 1.
  const std::vector<Bits> a{0x3e00};
  const std::vector<Bits> b{0x3956};
  check_product<Bits>(find(half_rows(), "fma.rn.f16", 4), "fma.rn.f16", a, b, std::vector<Bits>{1, 0, 0x8001},
                      [](Bits, Bits, Bits c) { return c == 1 ? 0x3c01u : 0x3c00u; });
}

TEST(HalfLanes, SignsMinAndMax) {
  EXPECT_EQ(find(half_rows(), "neg.ftz.bf16", 2).full, nullptr);
  for (const Format& format : kFormats) {
    auto values = with_random<Bits>(format.edges(), 40, 0xffffu);
    const std::string tail = std::string(format.ftz ? ".ftz" : "") + type_name(format, false);
    const auto abs = [&](Bits a) { return format.is_nan(a) ? 0x7fffu : format.flushed(a) & 0x7fffu; };
    const auto neg = [&](Bits a) { return format.is_nan(a) ? 0x7fffu : format.flushed(a) ^ 0x8000u; };
    check_values<Bits>(find(half_rows(), "abs" + tail, 2), "abs" + tail, values, abs);
    check_values<Bits>(find(half_rows(), "neg" + tail, 2), "neg" + tail, values, neg);
    check_values<Bits>(find(half_rows(), "neg" + tail + "x2", 2), "neg" + tail + "x2", paired(values),
                       [&](Bits a) { return both(neg, a); });
  }
  for (const Format& format : kFormats)
    for (const bool max : {false, true})
      for (const bool nan : {false, true})
        for (const bool xorsign : {false, true})
          for (const bool packed : {false, true}) {
            const std::string text = std::string(max ? "max" : "min") + (format.ftz ? ".ftz" : "") +
                                     (nan ? ".NaN" : "") + (xorsign ? ".xorsign.abs" : "") +
                                     type_name(format, packed);
            const auto one = [&](Bits a, Bits b) {
              a = format.flushed(a);
              b = format.flushed(b);
              const Bits sign = xorsign ? (a ^ b) & 0x8000u : 0;
              if (xorsign) {
                a &= 0x7fffu;
                b &= 0x7fffu;
              }
              const bool a_nan = format.is_nan(a);
              const bool b_nan = format.is_nan(b);
              if ((a_nan && b_nan) || (nan && (a_nan || b_nan))) return 0x7fffu;
              if (a_nan) return b | sign;
              if (b_nan) return a | sign;
              const double x = format.value(a);
              const double y = format.value(b);
              const bool less = x == y ? std::signbit(x) : x < y;
              return (less != max ? a : b) | sign;
            };
            auto values = with_random<Bits>(format.edges(), 40, 0xffffu);
            if (packed) values = paired(values);
            check_product<Bits>(find(half_rows(), text, 3), text, values, values,
                                [&](Bits a, Bits b) { return packed ? both(one, a, b) : one(a, b); });
          }
}

TEST(HalfLanes, ApproximationsOfEveryOperand) {
  std::vector<Bits> all;
  for (Bits bits = 0; bits < 0x10000; ++bits) all.push_back(bits);
  for (const bool bfloat : {false, true}) {
    const Format plain{bfloat, false};
    const Format flushing{bfloat, bfloat};  // bf16's ex2 is .ftz alone
    // By way of f32, as the lanes do it: in one case of f16 that decides.
    const auto exact_ex2 = [&](Bits a) {
      return finished(flushing.rounded(static_cast<float>(std::exp2(flushing.value(a)))), flushing, "");
    };
    const auto exact_tanh = [&](Bits a) {
      return finished(plain.rounded(static_cast<float>(std::tanh(plain.value(a)))), plain, "");
    };
    const std::string ex2 = std::string("ex2.approx") + (bfloat ? ".ftz" : "") + type_name(plain, false);
    const std::string tanh = "tanh.approx" + type_name(plain, false);
    check_values<Bits>(find(half_rows(), ex2, 2), ex2, all, exact_ex2);
    check_values<Bits>(find(half_rows(), tanh, 2), tanh, all, exact_tanh);
    check_values<Bits>(find(half_rows(), ex2 + "x2", 2), ex2 + "x2", paired(plain.edges()),
                       [&](Bits a) { return both(exact_ex2, a); });
    check_values<Bits>(find(half_rows(), tanh + "x2", 2), tanh + "x2", paired(plain.edges()),
                       [&](Bits a) { return both(exact_tanh, a); });
  }
}

}  // namespace
}  // namespace gpuforge::sim
