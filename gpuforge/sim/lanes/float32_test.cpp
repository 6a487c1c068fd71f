#include <cmath>

#include "gpuforge/sim/lanes/float_lanes_for_tests.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

using float_tests::add;
using float_tests::check_product;
using float_tests::check_values;
using float_tests::div;
using float_tests::edges32;
using float_tests::find;
using float_tests::fma;
using float_tests::mul;
using float_tests::root;
using float_tests::RoundingForTests;
using float_tests::sub;
using float_tests::with_random;
using Bits = std::uint32_t;

float as_float(Bits bits) {
  return std::bit_cast<float>(bits);
}
Bits flushed(Bits bits) {
  return std::fpclassify(as_float(bits)) == FP_SUBNORMAL ? bits & 0x80000000u : bits;
}

// What PTX says around an operation of the C library.
struct Reference {
  std::string_view mode;
  bool ftz = false;
  bool sat = false;

  template <class Function, class... Operands>
  Bits operator()(Function function, Operands... operands) const {
    float result = 0;
    {
      const RoundingForTests rounding(mode);
      result = function(as_float(ftz ? flushed(operands) : operands)...);
    }
    if (sat) {
      if (std::isnan(result) || result <= 0) return 0;
      result = std::fmin(result, 1.0f);
    }
    if (std::isnan(result)) return 0x7fffffffu;
    const auto bits = std::bit_cast<Bits>(result);
    if (!ftz) return bits;
    return tiny(function, operands...) ? bits & 0x80000000u : flushed(bits);
  }

 private:
  // Below the smallest normal number once rounded to 24 bits, with an exponent that has room.
  template <class Function, class... Operands>
  bool tiny(Function function, Operands... operands) const {
    const RoundingForTests rounding(mode);
    const long double wide = function(static_cast<long double>(as_float(flushed(operands)))...);
    const auto scaled = float_tests::hidden(static_cast<float>(float_tests::hidden(wide * 0x1p90L)));
    return std::fabs(scaled) < 0x1p-36f;
  }
};

constexpr std::string_view kModes[] = {".rn", ".rz", ".rm", ".rp"};

std::string instruction(std::string_view name, std::string_view mode, bool ftz, bool sat) {
  return std::string(name) + std::string(mode) + (ftz ? ".ftz" : "") + (sat ? ".sat" : "") + ".f32";
}

struct Binary {
  float (*narrow)(float, float);
  long double (*wide)(long double, long double);
  float operator()(float a, float b) const { return narrow(a, b); }
  long double operator()(long double a, long double b) const { return wide(a, b); }
};

TEST(Float32, AddSubMulDivRoundAsIeee) {
  const auto values = with_random(edges32(), 40);
  const std::pair<std::string_view, Binary> kOps[] = {
      {"add", {add<float>, add<long double>}},
      {"sub", {sub<float>, sub<long double>}},
      {"mul", {mul<float>, mul<long double>}},
      {"div", {div<float>, div<long double>}},
  };
  for (const auto& [name, function] : kOps)
    for (const std::string_view mode : kModes)
      for (const bool ftz : {false, true})
        for (const bool sat : {false, true}) {
          const std::string text = instruction(name, mode, ftz, sat);
          if (name == "div" && sat) {
            EXPECT_EQ(find(float32_rows(), text, 3).full, nullptr);
            continue;
          }
          const Reference reference{mode.substr(1), ftz, sat};
          check_product<Bits>(find(float32_rows(), text, 3), text, values, values,
                              [&, function = function](Bits a, Bits b) { return reference(function, a, b); });
        }
}

TEST(Float32, FmaAndMadRoundOnce) {
  const auto values = with_random(edges32(), 8);
  for (const std::string_view name : {"fma", "mad"})
    for (const std::string_view mode : kModes)
      for (const bool ftz : {false, true})
        for (const bool sat : {false, true}) {
          const std::string text = instruction(name, mode, ftz, sat);
          const Reference reference{mode.substr(1), ftz, sat};
          check_product<Bits>(
              find(float32_rows(), text, 4), text, values, edges32(), values, [&](Bits a, Bits b, Bits c) {
                return reference([](auto x, auto y, auto z) { return fma(x, y, z); }, a, b, c);
              });
        }
}

TEST(Float32, NoRoundingModifierMeansNearest) {
  EXPECT_EQ(find(float32_rows(), "add.f32", 3).full, find(float32_rows(), "add.rn.f32", 3).full);
  EXPECT_EQ(find(float32_rows(), "fma.f32", 4).full, nullptr);
  EXPECT_EQ(find(float32_rows(), "div.f32", 3).full, nullptr);
}

TEST(Float32, ReciprocalAndRootRoundAsIeee) {
  const auto values = with_random(edges32(), 2000);
  for (const std::string_view mode : {".rn", ".rz", ".rm", ".rp", ".approx"})
    for (const bool ftz : {false, true}) {
      const Reference reference{mode.substr(1), ftz, false};
      const std::string rcp_text = instruction("rcp", mode, ftz, false);
      check_values<Bits>(find(float32_rows(), rcp_text, 2), rcp_text, values,
                         [&](Bits a) { return reference([](auto x) { return div<decltype(x)>(1, x); }, a); });
      const std::string sqrt_text = instruction("sqrt", mode, ftz, false);
      check_values<Bits>(find(float32_rows(), sqrt_text, 2), sqrt_text, values,
                         [&](Bits a) { return reference([](auto x) { return root(x); }, a); });
    }
}

TEST(Float32, RoundingModeIsRestored) {
  const std::vector<Bits> third{0x3eaaaaabu};
  check_product<Bits>(find(float32_rows(), "mul.rm.f32", 3), "mul.rm.f32", third, third,
                      [](Bits, Bits) { return 0x3de38e39u; });
  volatile float one = 1.0f;
  volatile float three = 3.0f;
  EXPECT_EQ(std::bit_cast<Bits>(one / three), 0x3eaaaaabu);
  EXPECT_EQ(std::bit_cast<Bits>(-one / three), 0xbeaaaaabu);
}

TEST(Float32, SignOperationsAreBits) {
  const auto values = with_random(edges32(), 100);
  for (const bool ftz : {false, true}) {
    const std::string abs_text = instruction("abs", "", ftz, false);
    check_values<Bits>(find(float32_rows(), abs_text, 2), abs_text, values, [&](Bits a) {
      return std::isnan(as_float(a)) ? 0x7fffffffu : (ftz ? flushed(a) : a) & 0x7fffffffu;
    });
    const std::string neg_text = instruction("neg", "", ftz, false);
    check_values<Bits>(find(float32_rows(), neg_text, 2), neg_text, values, [&](Bits a) {
      return std::isnan(as_float(a)) ? 0x7fffffffu : (ftz ? flushed(a) : a) ^ 0x80000000u;
    });
  }
  check_product<Bits>(find(float32_rows(), "copysign.f32", 3), "copysign.f32", values, values,
                      [](Bits a, Bits b) { return (a & 0x80000000u) | (b & 0x7fffffffu); });
}

Bits reference_min_max(Bits a, Bits b, bool max, bool ftz, bool nan_wins, bool xorsign) {
  if (ftz) {
    a = flushed(a);
    b = flushed(b);
  }
  const Bits sign = xorsign ? (a ^ b) & 0x80000000u : 0;
  if (xorsign) {
    a &= 0x7fffffffu;
    b &= 0x7fffffffu;
  }
  const bool a_nan = std::isnan(as_float(a));
  const bool b_nan = std::isnan(as_float(b));
  if ((a_nan && b_nan) || (nan_wins && (a_nan || b_nan))) return 0x7fffffffu;
  if (a_nan) return b | sign;
  if (b_nan) return a | sign;
  bool a_less = as_float(a) < as_float(b);
  if (as_float(a) == as_float(b)) a_less = std::signbit(as_float(a));
  return (a_less != max ? a : b) | sign;
}

TEST(Float32, MinAndMax) {
  const auto values = with_random(edges32(), 40);
  for (const bool max : {false, true})
    for (const bool ftz : {false, true})
      for (const bool nan : {false, true}) {
        for (const bool xorsign : {false, true}) {
          const std::string text = std::string(max ? "max" : "min") + (ftz ? ".ftz" : "") +
                                   (nan ? ".NaN" : "") + (xorsign ? ".xorsign.abs" : "") + ".f32";
          check_product<Bits>(find(float32_rows(), text, 3), text, values, values, [&](Bits a, Bits b) {
            return reference_min_max(a, b, max, ftz, nan, xorsign);
          });
        }
        for (const bool absolute : {false, true}) {
          const std::string text = std::string(max ? "max" : "min") + (ftz ? ".ftz" : "") +
                                   (nan ? ".NaN" : "") + (absolute ? ".abs" : "") + ".f32";
          const Bits keep = absolute ? 0x7fffffffu : ~0u;
          check_product<Bits>(find(float32_rows(), text, 4), text, edges32(), edges32(), edges32(),
                              [&](Bits a, Bits b, Bits c) {
                                const Bits two = reference_min_max(a & keep, b & keep, max, ftz, nan, false);
                                return reference_min_max(two, c & keep, max, ftz, nan, false);
                              });
        }
      }
  EXPECT_EQ(find(float32_rows(), "min.xorsign.f32", 3).full, nullptr);
  EXPECT_EQ(find(float32_rows(), "min.abs.f32", 3).full, nullptr);
}

TEST(Float32, PackedPairsAreTwoOperations) {
  std::vector<std::uint64_t> pairs;
  const auto values = edges32();
  for (std::size_t i = 0; i < values.size(); ++i)
    pairs.push_back(values[i] | (std::uint64_t{values[(i * 7 + 3) % values.size()]} << 32));
  for (const std::string_view mode : kModes) {
    const Reference reference{mode.substr(1), true, false};
    const auto both = [&](auto function, auto... operands) {
      const std::uint64_t low = reference(function, static_cast<Bits>(operands)...);
      const std::uint64_t high = reference(function, static_cast<Bits>(operands >> 32)...);
      return low | (high << 32);
    };
    using Wide = std::uint64_t;
    const std::string tail = std::string(mode) + ".ftz.f32x2";
    check_product<Wide>(find(float32_rows(), "add" + tail, 3), "add" + tail, pairs, pairs,
                        [&](Wide a, Wide b) { return both([](auto x, auto y) { return add(x, y); }, a, b); });
    check_product<Wide>(find(float32_rows(), "mul" + tail, 3), "mul" + tail, pairs, pairs,
                        [&](Wide a, Wide b) { return both([](auto x, auto y) { return mul(x, y); }, a, b); });
    check_product<Wide>(find(float32_rows(), "fma" + tail, 4), "fma" + tail, pairs, pairs, pairs,
                        [&](Wide a, Wide b, Wide c) {
                          return both([](auto x, auto y, auto z) { return fma(x, y, z); }, a, b, c);
                        });
  }
}

TEST(Float32, MixedPrecisionWidensFirst) {
  const std::vector<Bits> narrow{0,      0x8000, 1,      0x3c00, 0x3c01, 0xbc00,
                                 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x0400};
  const auto wide = edges32();
  const auto half = [](Bits bits) {
    const double magnitude = (bits & 0x7c00u) == 0 ? std::ldexp(bits & 0x3ffu, -24)
                                                   : std::ldexp((bits & 0x3ffu) | 0x400u,
                                                                static_cast<int>((bits >> 10) & 31) - 25);
    if ((bits & 0x7fffu) > 0x7c00u) return 0x7fffffffu;
    const float value = (bits & 0x7fffu) == 0x7c00u ? INFINITY : static_cast<float>(magnitude);
    return std::bit_cast<Bits>((bits & 0x8000u) != 0 ? -value : value);
  };
  for (const std::string_view mode : kModes) {
    const Reference plain{mode.substr(1), false, false};
    const Reference saturated{mode.substr(1), false, true};
    const std::string tail = std::string(mode) + ".f32.f16";
    check_product<Bits>(
        find(float32_rows(), "add" + tail, 3), "add" + tail, narrow, wide,
        [&](Bits a, Bits c) { return plain([](auto x, auto y) { return add(x, y); }, half(a), c); });
    check_product<Bits>(
        find(float32_rows(), "sub" + tail, 3), "sub" + tail, narrow, wide,
        [&](Bits a, Bits c) { return plain([](auto x, auto y) { return sub(x, y); }, half(a), c); });
    const std::string fused = "fma" + std::string(mode) + ".sat.f32.bf16";
    check_product<Bits>(
        find(float32_rows(), fused, 4), fused, narrow, narrow, wide, [&](Bits a, Bits b, Bits c) {
          return saturated([](auto x, auto y, auto z) { return fma(x, y, z); }, a << 16, b << 16, c);
        });
  }
}

}  // namespace
}  // namespace gpuforge::sim
