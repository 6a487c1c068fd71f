// cvt to f16, bf16, tf32, fp8, fp6 and fp4, against a search through all numbers of the format.
#include <algorithm>
#include <cmath>

#include "gpuforge/base/half.h"
#include "gpuforge/sim/lanes/float_lanes_for_tests.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

using float_tests::check_product;
using float_tests::check_values;
using float_tests::edges32;
using float_tests::edges64;
using float_tests::find;
using float_tests::hidden;
using float_tests::RoundingForTests;
using float_tests::with_random;
using Bits = std::uint32_t;

// The magnitudes of a format in order, so that the index is the code.
struct Format {
  std::vector<double> magnitudes;
  Bits sign = 0;
  Bits infinity = 0;  // the code; 0 when the format has none
  Bits nan = 0;

  bool negative(Bits code) const { return (code & sign) != 0; }

  // "rn" "rz" "rm" "rp" "rna"; finite: never infinity.
  Bits rounded(double value, std::string_view mode, bool finite) const {
    if (std::isnan(value)) return nan;
    const bool minus = std::signbit(value);
    const double magnitude = std::fabs(value);
    const Bits largest = static_cast<Bits>(magnitudes.size() - 1);
    const Bits top = finite || infinity == 0 ? largest : infinity;
    const Bits sign_code = minus ? sign : 0;
    if (std::isinf(value)) return sign_code | top;
    const auto above = std::upper_bound(magnitudes.begin(), magnitudes.end(), magnitude);
    const auto low = static_cast<Bits>(above - magnitudes.begin()) - 1;
    const double lower = magnitudes[low];
    if (lower == magnitude) return sign_code | low;
    // One step past the largest would be as far as the last step.
    const double upper = low == largest ? 2 * lower - magnitudes[low - 1] : magnitudes[low + 1];
    bool up = false;
    if (mode == "rm") up = minus;
    if (mode == "rp") up = !minus;
    if (mode == "rn" || mode == "rna") {
      const double middle = (lower + upper) / 2;
      up = magnitude > middle || (magnitude == middle && (mode == "rna" || (low & 1) != 0));
    }
    const Bits code = low + (up ? 1 : 0);
    return sign_code | (code > largest ? top : code);
  }
};

Format make_format(int exponent_bits, int mantissa_bits, Bits numbers, bool has_infinity) {
  Format format;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  for (Bits code = 0; code < numbers; ++code) {
    const int exponent = static_cast<int>(code >> mantissa_bits);
    const double fraction = std::ldexp(code & ((1u << mantissa_bits) - 1), -mantissa_bits);
    format.magnitudes.push_back(exponent == 0 ? std::ldexp(fraction, 1 - bias)
                                              : std::ldexp(1 + fraction, exponent - bias));
  }
  format.sign = 1u << (exponent_bits + mantissa_bits);
  format.infinity = has_infinity ? numbers : 0;
  format.nan = format.sign - 1;
  return format;
}
const Format& half() {
  static const auto* format = new Format(make_format(5, 10, 0x7c00, true));
  return *format;
}
const Format& bfloat() {
  static const auto* format = new Format(make_format(8, 7, 0x7f80, true));
  return *format;
}
const Format& tensor_float() {
  static const auto* format = new Format(make_format(8, 10, 0x3fc00, true));
  return *format;
}

float as_float(Bits bits) {
  return std::bit_cast<float>(bits);
}

// Numbers of f32 at, beside and between those of the format, and everywhere else.
std::vector<Bits> around(const Format& format) {
  std::vector<Bits> values = with_random(edges32(), 500);
  const std::size_t step = std::max<std::size_t>(1, format.magnitudes.size() / 300);
  for (std::size_t i = 0; i + 1 < format.magnitudes.size(); i += step)
    for (const double one : {format.magnitudes[i], (format.magnitudes[i] + format.magnitudes[i + 1]) / 2}) {
      const Bits bits = std::bit_cast<Bits>(static_cast<float>(one));
      for (const Bits near : {bits, bits + 1, bits - 1}) {
        values.push_back(near);
        values.push_back(near | 0x80000000u);
      }
    }
  const Bits last = std::bit_cast<Bits>(static_cast<float>(format.magnitudes.back()));
  const Bits half_step = (last - std::bit_cast<Bits>(static_cast<float>(format.magnitudes.rbegin()[1]))) / 2;
  for (const Bits near : {last, last + 1, last + half_step - 1, last + half_step, last + half_step + 1}) {
    values.push_back(near);
    values.push_back(near | 0x80000000u);
  }
  return values;
}

Bits finished(Bits code, const Format& format, bool relu, bool sat) {
  const bool nan = format.nan == (code & ~format.sign) && format.nan >= format.magnitudes.size();
  if (sat) {
    const auto one = static_cast<Bits>(std::find(format.magnitudes.begin(), format.magnitudes.end(), 1.0) -
                                       format.magnitudes.begin());
    return nan || format.negative(code) ? 0 : std::min(code, one);
  }
  return relu && !nan && format.negative(code) ? 0 : code;
}

TEST(ConvertNarrow, HalvesFromFloat32) {
  for (const bool brain : {false, true}) {
    const Format& format = brain ? bfloat() : half();
    const std::string type = brain ? ".bf16" : ".f16";
    const auto values = around(format);
    for (const std::string_view mode : {"rn", "rz", "rm", "rp"})
      for (const bool ftz : {false, true})
        for (const bool sat : {false, true}) {
          const std::string text =
              "cvt." + std::string(mode) + (ftz ? ".ftz" : "") + (sat ? ".sat" : "") + type + ".f32";
          check_values<Bits>(find(convert_rows(), text, 2), text, values, [&](Bits a) {
            if (ftz && (a & 0x7f800000u) == 0) a &= 0x80000000u;
            return finished(format.rounded(as_float(a), mode, false), format, false, sat);
          });
        }
    for (const std::string_view mode : {"rn", "rz"})
      for (const bool relu : {false, true})
        for (const bool finite : {false, true}) {
          const std::string head =
              "cvt." + std::string(mode) + (relu ? ".relu" : "") + (finite ? ".satfinite" : "") + type;
          const auto one = [&](Bits a) {
            return finished(format.rounded(as_float(a), mode, finite), format, relu, false);
          };
          check_values<Bits>(find(convert_rows(), head + ".f32", 2), head + ".f32", values, one);
          check_product<Bits>(find(convert_rows(), head + "x2.f32", 3), head + "x2.f32", values,
                              std::vector<Bits>{0x3f800000, 0xc7000000, 0x7fc00000},
                              [&](Bits a, Bits b) { return (one(a) << 16) | one(b); });
        }
  }
  EXPECT_EQ(find(convert_rows(), "cvt.f16.f32", 2).full, nullptr);
  EXPECT_EQ(find(convert_rows(), "cvt.rni.f16.f32", 2).full, nullptr);
}

TEST(ConvertNarrow, HalvesFromFloat64AndFromEachOther) {
  for (const bool brain : {false, true}) {
    const Format& format = brain ? bfloat() : half();
    std::vector<std::uint64_t> values = edges64();
    for (const Bits one : around(format)) {
      const auto wide = std::bit_cast<std::uint64_t>(static_cast<double>(as_float(one)));
      values.push_back(wide);
      values.push_back(wide + 1);
      values.push_back(wide - 1);
    }
    std::vector<Bits> other;
    for (Bits code = 0; code < 0x10000; code += 3) other.push_back(code);
    for (const std::string_view mode : {"rn", "rz", "rm", "rp"}) {
      const std::string head = "cvt." + std::string(mode) + (brain ? ".bf16" : ".f16");
      check_values<Bits>(find(convert_rows(), head + ".f64", 2), head + ".f64", values, [&](std::uint64_t a) {
        return format.rounded(std::bit_cast<double>(a), mode, false);
      });
      const std::string cross = head + (brain ? ".f16" : ".bf16");
      check_values<Bits>(find(convert_rows(), cross, 2), cross, other, [&](Bits a) {
        const auto narrow = static_cast<std::uint16_t>(a);
        return format.rounded(brain ? Half{narrow}.to_double() : BFloat16{narrow}.to_double(), mode, false);
      });
    }
    for (const std::string_view mode : {"", ".rni", ".rzi", ".rmi", ".rpi"}) {
      const std::string type = brain ? ".bf16" : ".f16";
      const std::string text = "cvt" + std::string(mode) + type + type;
      check_values<Bits>(find(convert_rows(), text, 2), text, other, [&](Bits a) {
        const auto narrow = static_cast<std::uint16_t>(a);
        double value = brain ? BFloat16{narrow}.to_double() : Half{narrow}.to_double();
        if (mode == ".rni") value = std::nearbyint(value);
        if (mode == ".rzi") value = std::trunc(value);
        if (mode == ".rmi") value = std::floor(value);
        if (mode == ".rpi") value = std::ceil(value);
        return format.rounded(value, "rn", false);
      });
    }
  }
}

TEST(ConvertNarrow, HalvesFromIntegers) {
  std::vector<std::uint64_t> values;
  for (int bit = 0; bit < 64; ++bit)
    for (const std::int64_t step : {-2, -1, 0, 1, 2, 1 << 20}) {
      values.push_back((std::uint64_t{1} << bit) + static_cast<std::uint64_t>(step));
      values.push_back((std::uint64_t{0x801} << bit) + static_cast<std::uint64_t>(step));  // between two f16
      values.push_back((std::uint64_t{0x101} << bit) + static_cast<std::uint64_t>(step));  // between two bf16
    }
  for (const std::size_t i : {0, 5, 40, 100}) values.push_back(0 - values[i]);
  std::vector<Bits> words;
  for (const std::uint64_t one : values) words.push_back(static_cast<Bits>(one));
  // Cut off to odd where a double cannot hold it: half() and bfloat() round that as the integer.
  const auto odd = [](long double exact) {
    const RoundingForTests rounding("rz");
    const double cut = hidden(static_cast<double>(hidden(exact)));
    const bool lost = static_cast<long double>(cut) != exact;
    return lost ? std::bit_cast<double>(std::bit_cast<std::uint64_t>(cut) | 1) : cut;
  };
  for (const bool brain : {false, true})
    for (const std::string_view mode : {"rn", "rz", "rm", "rp"}) {
      const Format& format = brain ? bfloat() : half();
      const std::string head = "cvt." + std::string(mode) + (brain ? ".bf16." : ".f16.");
      const auto check = [&]<class T>(std::string_view name, T) {
        const std::string text = head + std::string(name);
        const Handlers handlers = find(convert_rows(), text, 2);
        const auto expected = [&](auto a) {
          return format.rounded(odd(static_cast<long double>(static_cast<T>(a))), mode, false);
        };
        if constexpr (sizeof(T) == 8)
          check_values<Bits>(handlers, text, values, expected, {4, 8});
        else
          check_values<Bits>(handlers, text, words, expected, {4, 4});
      };
      check("u8", std::uint8_t{});
      check("s8", std::int8_t{});
      check("u16", std::uint16_t{});
      check("s16", std::int16_t{});
      check("u32", std::uint32_t{});
      check("s32", std::int32_t{});
      check("u64", std::uint64_t{});
      check("s64", std::int64_t{});
    }
}

TEST(ConvertNarrow, TensorFloat) {
  const auto values = around(tensor_float());
  for (const std::string_view mode : {"rn", "rz", "rna"})
    for (const bool relu : {false, true})
      for (const bool finite : {false, true}) {
        const std::string text =
            "cvt." + std::string(mode) + (finite ? ".satfinite" : "") + (relu ? ".relu" : "") + ".tf32.f32";
        if (mode == "rna" && relu) {
          EXPECT_EQ(find(convert_rows(), text, 2).full, nullptr);
          continue;
        }
        check_values<Bits>(find(convert_rows(), text, 2), text, values, [&](Bits a) {
          if (std::isnan(as_float(a)))
            return mode == "rna" ? (a & 0xffffe000u) - (finite ? 0x2000u : 0u) : 0x7fffe000u;
          return finished(tensor_float().rounded(as_float(a), mode, finite), tensor_float(), relu, false)
                 << 13;
        });
      }
}

struct Pair {
  std::string_view name;
  Format format;
  int bits;  // each takes in the pair
};
std::vector<Pair> pairs() {
  return {{"e4m3x2", make_format(4, 3, 0x7f, false), 8},
          {"e5m2x2", make_format(5, 2, 0x7c, true), 8},
          {"e2m3x2", make_format(2, 3, 0x20, false), 8},
          {"e3m2x2", make_format(3, 2, 0x20, false), 8},
          {"e2m1x2", make_format(2, 1, 0x8, false), 4}};
}

TEST(ConvertNarrow, PairsFromFloats) {
  for (const Pair& pair : pairs())
    for (const bool relu : {false, true}) {
      const std::string head =
          std::string("cvt.rn.satfinite") + (relu ? ".relu." : ".") + std::string(pair.name);
      const auto one = [&](double value) {
        return finished(pair.format.rounded(value, "rn", true), pair.format, relu, false);
      };
      check_product<Bits>(find(convert_rows(), head + ".f32", 3), head + ".f32", around(pair.format),
                          std::vector<Bits>{0x3f800000, 0xc0400000, 0x7fc00000, 0xff800000},
                          [&](Bits a, Bits b) { return (one(as_float(a)) << pair.bits) | one(as_float(b)); });
      if (!pair.name.ends_with("4m3x2") && !pair.name.ends_with("5m2x2")) continue;
      std::vector<Bits> halves;
      for (Bits code = 0; code < 0x10000; ++code) halves.push_back(code | ((code * 7 + 11) << 16));
      check_values<Bits>(find(convert_rows(), head + ".f16x2", 2), head + ".f16x2", halves, [&](Bits a) {
        const double low = Half{static_cast<std::uint16_t>(a)}.to_double();
        const double high = Half{static_cast<std::uint16_t>(a >> 16)}.to_double();
        return (one(high) << 8) | one(low);
      });
    }
}

TEST(ConvertNarrow, PairsToHalves) {
  for (const Pair& pair : pairs())
    for (const bool relu : {false, true}) {
      const std::string text =
          std::string("cvt.rn") + (relu ? ".relu" : "") + ".f16x2." + std::string(pair.name);
      std::vector<Bits> codes;
      for (Bits code = 0; code < (pair.bits == 4 ? 0x100u : 0x10000u); ++code) codes.push_back(code);
      const auto one = [&](Bits code) {
        const Bits magnitude = code & (pair.format.sign - 1);
        const Bits sign = (code & pair.format.sign) != 0 ? 0x8000u : 0u;
        Bits result = 0;
        if (magnitude < pair.format.magnitudes.size())
          result = sign | half().rounded(pair.format.magnitudes[magnitude], "rn", false);
        else
          result = pair.format.infinity != 0 && magnitude == pair.format.infinity ? sign | 0x7c00u : 0x7fffu;
        return finished(result, half(), relu, false);
      };
      check_values<Bits>(find(convert_rows(), text, 2), text, codes, [&](Bits a) {
        return (one(a >> pair.bits) << 16) | one(a & ((1u << pair.bits) - 1));
      });
    }
}

}  // namespace
}  // namespace gpuforge::sim
