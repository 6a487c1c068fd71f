#include <cmath>

#include "gpuforge/sim/lanes/float_lanes_for_tests.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

using float_tests::check_values;
using float_tests::edges32;
using float_tests::find;
using float_tests::Lanes;
using Bits = std::uint32_t;

constexpr Bits kNaN = 0x7fffffffu;

float as_float(Bits bits) {
  return std::bit_cast<float>(bits);
}
Bits bits_of(float value) {
  return std::isnan(value) ? kNaN : std::bit_cast<Bits>(value);
}
Bits flushed(Bits bits) {
  return (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits;
}

// All floats between two, in steps of bit patterns that visit every exponent many times.
std::vector<Bits> samples(float from, float to, Bits step) {
  std::vector<Bits> values;
  const Bits last = std::bit_cast<Bits>(to);
  for (Bits bits = std::bit_cast<Bits>(from); bits < last; bits += step) {
    values.push_back(bits);
    values.push_back(bits | 0x80000000u);
  }
  return values;
}

long double ulp(long double value) {
  const long double magnitude = std::fabs(value);
  if (magnitude < 0x1p-126L) return 0x1p-149L;
  return std::ldexp(1.0L, std::ilogb(magnitude) - 23);
}

// The largest error in units of the last place over `values`, against a function of long double.
template <class Function>
double worst_ulps(std::string_view instruction, const std::vector<Bits>& values, bool ftz,
                  Function function) {
  const Handlers handlers = find(float32_rows(), instruction, 2);
  EXPECT_NE(handlers.full, nullptr);
  Lanes lanes({});
  long double worst = 0;
  for (std::size_t base = 0; base + kLanes <= values.size(); base += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes.operand<Bits>(1)[lane] = values[base + lane];
    lanes.run(handlers, kAllLanes);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const Bits operand = lanes.operand<Bits>(1)[lane];
      const long double exact =
          function(static_cast<long double>(as_float(ftz ? flushed(operand) : operand)));
      const float got = as_float(lanes.operand<Bits>(0)[lane]);
      // Overflow and what .ftz takes away are compared as values, not as distances.
      if (bits_of(static_cast<float>(exact)) == bits_of(got)) continue;
      if (ftz && bits_of(got) == flushed(bits_of(static_cast<float>(exact)))) continue;
      const long double error = std::fabs(static_cast<long double>(got) - exact) / ulp(exact);
      if (!(error <= worst)) {
        worst = error;
        if (!(worst < 1)) {
          ADD_FAILURE() << instruction << "(" << as_float(operand) << ") gave " << got << ", not "
                        << static_cast<double>(exact);
          return 1e9;
        }
      }
    }
  }
  return static_cast<double>(worst);
}

TEST(Float32Approx, Ex2) {
  auto values = samples(0x1p-30f, 160.0f, 997);
  for (int n = -155; n < 132; ++n) values.push_back(bits_of(static_cast<float>(n)));
  for (const bool ftz : {false, true})
    EXPECT_LT(worst_ulps(ftz ? "ex2.approx.ftz.f32" : "ex2.approx.f32", values, ftz,
                         [](long double x) { return std::exp2(x); }),
              0.51);
}
TEST(Float32Approx, Lg2) {
  auto values = samples(0x1p-149f, INFINITY, 4801);
  const auto near_one = samples(0.9f, 1.1f, 17);
  values.insert(values.end(), near_one.begin(), near_one.end());
  for (const bool ftz : {false, true})
    EXPECT_LT(worst_ulps(ftz ? "lg2.approx.ftz.f32" : "lg2.approx.f32", values, ftz,
                         [](long double x) { return std::log2(x); }),
              0.51);
}
TEST(Float32Approx, SinAndCos) {
  const auto values = samples(0x1p-149f, 0x1p20f, 4001);
  EXPECT_LT(worst_ulps("sin.approx.f32", values, false, [](long double x) { return std::sin(x); }), 0.6);
  EXPECT_LT(worst_ulps("cos.approx.f32", values, false, [](long double x) { return std::cos(x); }), 0.6);
  EXPECT_LT(worst_ulps("sin.approx.ftz.f32", values, true, [](long double x) { return std::sin(x); }), 0.6);
  const auto far = samples(0x1p20f, 0x1.fffffep127f, 77777);
  EXPECT_LT(worst_ulps("cos.approx.f32", far, false, [](long double x) { return std::cos(x); }), 0.51);
}
TEST(Float32Approx, Tanh) {
  EXPECT_LT(worst_ulps("tanh.approx.f32", samples(0x1p-149f, INFINITY, 4801), false,
                       [](long double x) { return std::tanh(x); }),
            0.52);
}
TEST(Float32Approx, Rsqrt) {
  const auto values = samples(0x1p-149f, INFINITY, 1601);
  for (const bool ftz : {false, true})
    EXPECT_LT(worst_ulps(ftz ? "rsqrt.approx.ftz.f32" : "rsqrt.approx.f32", values, ftz,
                         [](long double x) { return 1 / std::sqrt(x); }),
              0.9);
}

TEST(Float32Approx, SpecialValues) {
  const Bits inf = 0x7f800000u;
  const Bits minus = 0x80000000u;
  const std::vector<Bits> operands{0, minus, 1, minus | 1, inf, minus | inf, 0x7fc00000u, 0xff800001u};
  struct Case {
    std::string_view instruction;
    std::vector<Bits> results;
  };
  // The tables of the manual, in the order of the operands. The least subnormal is 2^-149.
  const Case cases[] = {
      {"rcp.approx.f32", {inf, minus | inf, inf, minus | inf, 0, minus, kNaN, kNaN}},
      {"rcp.approx.ftz.f32", {inf, minus | inf, inf, minus | inf, 0, minus, kNaN, kNaN}},
      {"sqrt.approx.ftz.f32", {0, minus, 0, minus, inf, kNaN, kNaN, kNaN}},
      {"sqrt.approx.f32", {0, minus, bits_of(0x1.6a09e6p-75f), kNaN, inf, kNaN, kNaN, kNaN}},
      {"rsqrt.approx.f32", {inf, minus | inf, bits_of(0x1.6a09e6p74f), kNaN, 0, kNaN, kNaN, kNaN}},
      {"rsqrt.approx.ftz.f32", {inf, minus | inf, inf, minus | inf, 0, kNaN, kNaN, kNaN}},
      {"sin.approx.f32", {0, minus, 1, minus | 1, kNaN, kNaN, kNaN, kNaN}},
      {"sin.approx.ftz.f32", {0, minus, 0, minus, kNaN, kNaN, kNaN, kNaN}},
      {"cos.approx.f32", {0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000, kNaN, kNaN, kNaN, kNaN}},
      {"lg2.approx.f32", {minus | inf, minus | inf, bits_of(-149.0f), kNaN, inf, kNaN, kNaN, kNaN}},
      {"lg2.approx.ftz.f32", {minus | inf, minus | inf, minus | inf, minus | inf, inf, kNaN, kNaN, kNaN}},
      {"ex2.approx.f32", {0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000, inf, 0, kNaN, kNaN}},
      {"ex2.approx.ftz.f32", {0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000, inf, 0, kNaN, kNaN}},
      {"tanh.approx.f32", {0, minus, 1, minus | 1, 0x3f800000, 0xbf800000, kNaN, kNaN}},
  };
  for (const Case& one : cases) {
    check_values<Bits>(find(float32_rows(), one.instruction, 2), one.instruction, operands, [&](Bits a) {
      for (std::size_t i = 0; i < operands.size(); ++i)
        if (operands[i] == a) return one.results[i];
      return 0u;
    });
  }
}

TEST(Float32Approx, Division) {
  for (const bool ftz : {false, true})
    for (const bool full : {false, true}) {
      const std::string text =
          std::string("div") + (full ? ".full" : ".approx") + (ftz ? ".ftz" : "") + ".f32";
      float_tests::check_product<Bits>(find(float32_rows(), text, 3), text, edges32(), edges32(),
                                       [&](Bits a_bits, Bits b_bits) {
                                         const float a = as_float(ftz ? flushed(a_bits) : a_bits);
                                         float b = as_float(ftz ? flushed(b_bits) : b_bits);
                                         if (!full && std::fabs(b) > 0x1p126f) b = std::copysign(INFINITY, b);
                                         const Bits quotient = bits_of(a / b);
                                         return ftz ? flushed(quotient) : quotient;
                                       });
    }
}

}  // namespace
}  // namespace gpuforge::sim
