#include <cmath>

#include "gpuforge/sim/lanes/float_lanes_for_tests.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

using float_tests::check_product;
using float_tests::check_values;
using float_tests::edges64;
using float_tests::find;
using float_tests::RoundingForTests;
using float_tests::with_random;
using Bits = std::uint64_t;

constexpr Bits kSign = Bits{1} << 63;
constexpr Bits kQuiet = 0x0008000000000000u;
constexpr std::string_view kModes[] = {".rn", ".rz", ".rm", ".rp"};

double as_double(Bits bits) {
  return std::bit_cast<double>(bits);
}

// The first NaN operand made quiet, the default NaN for an invalid operation, or the library's result.
template <class Function, class... Operands>
Bits reference(std::string_view mode, Function function, Operands... operands) {
  for (const Bits one : {operands...})
    if (std::isnan(as_double(one))) return one | kQuiet;
  const RoundingForTests rounding(mode.substr(1));
  const double result = function(as_double(operands)...);
  return std::isnan(result) ? 0xfff8000000000000u : std::bit_cast<Bits>(result);
}

TEST(Float64, BinaryOperationsRoundAsIeee) {
  const auto values = with_random(edges64(), 40);
  using Function = double (*)(double, double);
  const std::pair<std::string, Function> kOps[] = {
      {"add", float_tests::add<double>},
      {"sub", float_tests::sub<double>},
      {"mul", float_tests::mul<double>},
      {"div", float_tests::div<double>},
  };
  for (const auto& [name, function] : kOps)
    for (const std::string_view mode : kModes) {
      const std::string text = name + std::string(mode) + ".f64";
      check_product<Bits>(find(float64_rows(), text, 3), text, values, values,
                          [&, f = function](Bits a, Bits b) { return reference(mode, f, a, b); });
    }
  EXPECT_EQ(find(float64_rows(), "add.f64", 3).full, find(float64_rows(), "add.rn.f64", 3).full);
  EXPECT_EQ(find(float64_rows(), "add.sat.f64", 3).full, nullptr);
}

TEST(Float64, FmaRoundsOnce) {
  const auto values = with_random(edges64(), 8);
  for (const std::string_view name : {"fma", "mad"})
    for (const std::string_view mode : kModes) {
      const std::string text = std::string(name) + std::string(mode) + ".f64";
      check_product<Bits>(
          find(float64_rows(), text, 4), text, values, edges64(), values,
          [&](Bits a, Bits b, Bits c) { return reference(mode, float_tests::fma<double>, a, b, c); });
    }
}

TEST(Float64, ReciprocalAndRoot) {
  const auto values = with_random(edges64(), 1000);
  for (const std::string_view mode : kModes) {
    const std::string rcp = "rcp" + std::string(mode) + ".f64";
    check_values<Bits>(find(float64_rows(), rcp, 2), rcp, values, [&](Bits a) {
      return reference(
          mode, [](double x) { return float_tests::div(1.0, x); }, a);
    });
    const std::string sqrt = "sqrt" + std::string(mode) + ".f64";
    check_values<Bits>(find(float64_rows(), sqrt, 2), sqrt, values,
                       [&](Bits a) { return reference(mode, float_tests::root<double>, a); });
  }
}

TEST(Float64, GrossApproximationsHaveTwentyBits) {
  const Bits inf = 0x7ff0000000000000u;
  for (const bool root : {false, true}) {
    const std::string text = std::string(root ? "rsqrt" : "rcp") + ".approx.ftz.f64";
    check_values<Bits>(find(float64_rows(), text, 2), text, std::vector<Bits>{0, kSign, 1, kSign | 1, inf},
                       [&](Bits a) { return a == inf ? 0 : inf | (a & kSign); });
    // A NaN is one by its upper word, and gives one NaN.
    check_values<Bits>(find(float64_rows(), text, 2), text,
                       std::vector<Bits>{inf | 1, ~Bits{0}, inf | kQuiet | 5},
                       [&](Bits a) { return a == (inf | 1) ? 0 : 0x7fffffff00000000u; });
  }
  float_tests::Lanes lanes({8, 8});
  for (const bool root : {false, true}) {
    const Handlers handlers = find(float64_rows(), root ? "rsqrt.approx.ftz.f64" : "rcp.approx.ftz.f64", 2);
    double operand = 1.0;
    for (std::size_t lane = 0; lane < kLanes; ++lane, operand *= 1.37)
      lanes.operand<double>(1)[lane] = operand;
    lanes.run(handlers, kAllLanes);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double x = lanes.operand<double>(1)[lane];
      const double exact = root ? 1 / std::sqrt(x) : 1 / x;
      EXPECT_LT(std::fabs(lanes.operand<double>(0)[lane] / exact - 1), 0x1p-18);
      EXPECT_EQ(lanes.operand<Bits>(0)[lane] & 0xffffffffu, 0u);
    }
  }
}

TEST(Float64, ReciprocalRootIsWithinOneUlp) {
  const Handlers handlers = find(float64_rows(), "rsqrt.approx.f64", 2);
  const auto values = with_random(edges64(), 4000);
  float_tests::Lanes lanes({});
  for (std::size_t base = 0; base + kLanes <= values.size(); base += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes.operand<Bits>(1)[lane] = values[base + lane];
    lanes.run(handlers, kAllLanes);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const Bits operand = lanes.operand<Bits>(1)[lane], result = lanes.operand<Bits>(0)[lane];
      const long double exact = 1 / std::sqrt(static_cast<long double>(as_double(operand)));
      if (std::isfinite(exact) && exact != 0) {
        const long double unit = std::ldexp(1.0L, std::ilogb(exact) - 52);
        EXPECT_LT(std::fabs(as_double(result) - exact), 0.51L * unit) << std::hex << operand;
      } else {
        const Bits expected = reference(
            ".rn", [](double x) { return 1 / std::sqrt(x); }, operand);
        EXPECT_EQ(result, expected) << std::hex << operand;
      }
    }
  }
}

TEST(Float64, SignsMinAndMax) {
  const auto values = with_random(edges64(), 40);
  check_values<Bits>(find(float64_rows(), "abs.f64", 2), "abs.f64", values,
                     [](Bits a) { return std::isnan(as_double(a)) ? a | kQuiet : a & ~kSign; });
  check_values<Bits>(find(float64_rows(), "neg.f64", 2), "neg.f64", values,
                     [](Bits a) { return std::isnan(as_double(a)) ? a | kQuiet : a ^ kSign; });
  check_product<Bits>(find(float64_rows(), "copysign.f64", 3), "copysign.f64", values, values,
                      [](Bits a, Bits b) { return (a & kSign) | (b & ~kSign); });
  for (const bool max : {false, true}) {
    const std::string text = max ? "max.f64" : "min.f64";
    check_product<Bits>(find(float64_rows(), text, 3), text, values, values, [&](Bits a, Bits b) -> Bits {
      const double x = as_double(a);
      const double y = as_double(b);
      if (std::isnan(x) && std::isnan(y)) return 0xfff8000000000000u;
      if (std::isnan(x)) return b;
      if (std::isnan(y)) return a;
      const bool less = x == y ? std::signbit(x) : x < y;
      return less != max ? a : b;
    });
  }
}

}  // namespace
}  // namespace gpuforge::sim
