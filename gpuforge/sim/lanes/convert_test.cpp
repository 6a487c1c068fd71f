// cvt between the integer types, f32 and f64, and from f16 and bf16. What rounds to narrower formats is in
// convert_narrow_test.cpp.
#include <cmath>
#include <limits>

#include "gpuforge/base/half.h"
#include "gpuforge/sim/lanes/float_lanes_for_tests.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

using float_tests::check_values;
using float_tests::edges32;
using float_tests::edges64;
using float_tests::find;
using float_tests::hidden;
using float_tests::RoundingForTests;
using float_tests::Widths;
using float_tests::with_random;
using Bits = std::uint64_t;
__extension__ using Wide = __int128;

struct Integer {
  std::string_view name;
  int bits = 0;
  bool is_signed = false;

  Wide lowest() const { return is_signed ? -(Wide{1} << (bits - 1)) : 0; }
  Wide highest() const { return (Wide{1} << (is_signed ? bits - 1 : bits)) - 1; }
  Wide value(Bits pattern) const {
    Wide result = pattern & mask();
    if (is_signed && ((pattern >> (bits - 1)) & 1) != 0) result -= Wide{1} << bits;
    return result;
  }
  Bits mask() const { return bits == 64 ? ~Bits{0} : (Bits{1} << bits) - 1; }
  Wide clamped(Wide value) const {
    return value < lowest() ? lowest() : value > highest() ? highest() : value;
  }
  // What a register of so many bytes holds, in its row.
  Bits in_register(Wide value, int bytes) const {
    const Bits kept = static_cast<Bits>(this->value(static_cast<Bits>(value)));
    return bytes == 8 ? kept : kept & ((Bits{1} << (8 * bytes)) - 1);
  }
};
constexpr Integer kIntegers[] = {{"u8", 8, false},   {"s8", 8, true},    {"u16", 16, false},
                                 {"s16", 16, true},  {"u32", 32, false}, {"s32", 32, true},
                                 {"u64", 64, false}, {"s64", 64, true}};

std::vector<Bits> integer_edges() {
  std::vector<Bits> values;
  for (const int bit : {0, 1, 7, 8, 11, 15, 16, 24, 25, 31, 32, 33, 53, 54, 62, 63})
    for (const std::int64_t step : {-2, -1, 0, 1, 2}) {
      const Bits near = (Bits{1} << bit) + static_cast<Bits>(step);
      values.push_back(near);
      values.push_back(0 - near);
    }
  for (const Bits one : {0x01000001u, 0x01000003u, 0x7fffff40u, 0x7fffffc0u, 0xffffff80u})
    values.push_back(one);
  for (const Bits one : {0x0020000000000001u, 0x7ffffffffffffc00u, 0x7ffffffffffffe00u, 0xfffffffffffffbffu,
                         0x8000008000000001u, 0x4000004000000000u})
    values.push_back(one);
  return with_random(values, 200);
}
std::vector<std::uint32_t> low_words(const std::vector<Bits>& values) {
  std::vector<std::uint32_t> words;
  for (const Bits one : values) words.push_back(static_cast<std::uint32_t>(one));
  return words;
}

// Runs a conversion for the rows that registers of these widths have; expected is Bits(Bits).
template <class Expected>
void check(const std::string& text, const std::vector<Bits>& values, int destination_bytes, int source_bytes,
           Expected expected) {
  const Handlers handlers = find(convert_rows(), text, 2);
  const Widths widths{static_cast<std::uint8_t>(destination_bytes), static_cast<std::uint8_t>(source_bytes)};
  const std::string what =
      text + " " + std::to_string(destination_bytes) + "<-" + std::to_string(source_bytes);
  if (source_bytes == 8 && destination_bytes == 8)
    check_values<Bits>(handlers, what, values, expected, widths);
  else if (source_bytes == 8)
    check_values<std::uint32_t>(handlers, what, values, expected, widths);
  else if (destination_bytes == 8)
    check_values<Bits>(handlers, what, low_words(values), expected, widths);
  else
    check_values<std::uint32_t>(handlers, what, low_words(values), expected, widths);
}

TEST(Convert, IntegersInEveryRegister) {
  const auto values = integer_edges();
  for (const Integer& to : kIntegers)
    for (const Integer& from : kIntegers)
      for (const bool sat : {false, true})
        for (const int destination_bytes : {1, 2, 4, 8})
          for (const int source_bytes : {4, 8}) {
            if (8 * destination_bytes < to.bits || 8 * source_bytes < from.bits) continue;
            const std::string text = std::string("cvt") + (sat ? ".sat." : ".") + std::string(to.name) + "." +
                                     std::string(from.name);
            check(text, values, destination_bytes, source_bytes, [&](Bits a) {
              const Wide value = from.value(a);
              return to.in_register(sat ? to.clamped(value) : value, destination_bytes);
            });
          }
  EXPECT_EQ(find(convert_rows(), "cvt.rzi.s32.s32", 2).full, nullptr);
}

long double integral(long double value, std::string_view mode) {
  if (mode == "rzi") return std::trunc(value);
  if (mode == "rmi") return std::floor(value);
  if (mode == "rpi") return std::ceil(value);
  return std::nearbyint(value);
}

struct Float {
  std::string_view name;
  int bits = 0;

  long double value(Bits pattern) const {
    if (name == "f64") return std::bit_cast<double>(pattern);
    if (name == "f32") return std::bit_cast<float>(static_cast<std::uint32_t>(pattern));
    const auto narrow = static_cast<std::uint16_t>(pattern);
    return name == "f16" ? Half{narrow}.to_double() : BFloat16{narrow}.to_double();
  }
  std::vector<Bits> samples() const {
    if (name == "f64") {
      auto values = edges64();
      for (const Integer& one : kIntegers)
        for (const double offset : {-1.5, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 1.5})
          for (const Wide limit : {one.lowest(), one.highest()})
            values.push_back(std::bit_cast<Bits>(static_cast<double>(limit) + offset));
      for (double x = -3; x <= 3; x += 0.25) values.push_back(std::bit_cast<Bits>(x));
      return values;
    }
    std::vector<Bits> values;
    if (name == "f32") {
      for (const std::uint32_t one : edges32()) values.push_back(one);
      for (const Integer& one : kIntegers)
        for (const float offset : {-1.5f, -1.0f, -0.5f, -0.25f, 0.0f, 0.25f, 0.5f, 1.0f, 1.5f})
          for (const Wide limit : {one.lowest(), one.highest()}) {
            const float near = static_cast<float>(limit) + offset;
            values.push_back(std::bit_cast<std::uint32_t>(near));
            values.push_back(std::bit_cast<std::uint32_t>(std::nextafter(near, 0.0f)));
          }
      for (float x = -3; x <= 3; x += 0.25f) values.push_back(std::bit_cast<std::uint32_t>(x));
      return values;
    }
    for (Bits one = 0; one < 0x10000; one += 7) values.push_back(one);
    for (const Bits one : {0x7c00u, 0xfc00u, 0x7f80u, 0xff80u, 0x7fffu, 0xffffu, 0x3800u, 0x3e00u, 0x4100u})
      values.push_back(one);
    return values;
  }
  bool subnormal(Bits pattern) const { return name == "f32" && (pattern & 0x7f800000u) == 0; }
};
constexpr Float kFloats[] = {{"f16", 16}, {"bf16", 16}, {"f32", 32}, {"f64", 64}};

TEST(Convert, FloatsToIntegersClamp) {
  for (const Integer& to : kIntegers)
    for (const Float& from : kFloats)
      for (const std::string_view mode : {"rni", "rzi", "rmi", "rpi"})
        for (const std::string_view tail : {"", ".ftz", ".sat"}) {
          const std::string text = "cvt." + std::string(mode) + std::string(tail) + "." +
                                   std::string(to.name) + "." + std::string(from.name);
          const bool ftz = tail == ".ftz";
          if (ftz && from.name != "f32") {
            EXPECT_EQ(find(convert_rows(), text, 2).full, nullptr) << text;
            continue;
          }
          for (const int destination_bytes : {2, 4, 8}) {
            if (8 * destination_bytes < to.bits) continue;
            check(text, from.samples(), destination_bytes, from.bits == 64 ? 8 : 4, [&](Bits a) {
              long double value = from.value(a);
              if (std::isnan(value)) {
                const bool wide = from.bits == 64 || to.bits == 64;
                return to.in_register(wide ? Wide{1} << (to.bits - 1) : Wide{0}, destination_bytes);
              }
              if (ftz && from.subnormal(a)) value = 0;
              value = integral(value, mode);
              value = std::fmin(std::fmax(value, -0x1p100L), 0x1p100L);
              return to.in_register(to.clamped(static_cast<Wide>(value)), destination_bytes);
            });
          }
        }
  EXPECT_EQ(find(convert_rows(), "cvt.s32.f32", 2).full, nullptr);
  EXPECT_EQ(find(convert_rows(), "cvt.rn.s32.f32", 2).full, nullptr);
}

TEST(Convert, IntegersToFloats) {
  const auto values = integer_edges();
  for (const Integer& from : kIntegers)
    for (const bool wide : {false, true})
      for (const std::string_view mode : {"rn", "rz", "rm", "rp"})
        for (const bool sat : {false, true})
          for (const int source_bytes : {4, 8}) {
            if (8 * source_bytes < from.bits) continue;
            const std::string text = "cvt." + std::string(mode) + (sat ? ".sat" : "") +
                                     (wide ? ".f64." : ".f32.") + std::string(from.name);
            check(text, values, wide ? 8 : 4, source_bytes, [&](Bits a) -> Bits {
              auto value = static_cast<long double>(from.value(a));  // 64 bits hold every integer
              if (sat) value = value > 0 ? 1 : 0;
              const RoundingForTests rounding(mode);
              const long double operand = hidden(value);
              if (wide) return std::bit_cast<Bits>(hidden(static_cast<double>(operand)));
              return std::bit_cast<std::uint32_t>(hidden(static_cast<float>(operand)));
            });
          }
  EXPECT_EQ(find(convert_rows(), "cvt.f32.s32", 2).full, nullptr);
}

TEST(Convert, FloatsToFloat32AndFloat64) {
  for (const Float& from : kFloats)
    for (const bool wide : {false, true})
      for (const std::string_view mode : {"", ".rn", ".rz", ".rm", ".rp", ".rni", ".rzi", ".rmi", ".rpi"})
        for (const bool ftz : {false, true})
          for (const bool sat : {false, true}) {
            const std::string text = "cvt" + std::string(mode) + (ftz ? ".ftz" : "") + (sat ? ".sat" : "") +
                                     (wide ? ".f64." : ".f32.") + std::string(from.name);
            const bool same = from.name == (wide ? "f64" : "f32");
            const bool narrows = !wide && from.name == "f64";
            const bool integer_mode = mode.size() == 4;
            const bool legal =
                (same ? mode.empty() || integer_mode : mode.empty() != narrows && !integer_mode) &&
                (!ftz || !wide || from.name == "f32");
            if (!legal) {
              EXPECT_EQ(find(convert_rows(), text, 2).full, nullptr) << text;
              continue;
            }
            check(text, from.samples(), wide ? 8 : 4, from.bits == 64 ? 8 : 4, [&](Bits a) -> Bits {
              long double value = from.value(a);
              if (std::isnan(value)) {
                if (sat) return 0;
                if (from.name == "f64" && wide) return a | 0x0008000000000000u;
                if (wide && from.name == "f16")
                  return std::bit_cast<Bits>(double{std::bit_cast<float>(0x7fffffffu)});
                if (wide) {
                  const auto bits = static_cast<std::uint32_t>(from.name == "bf16" ? a << 16 : a);
                  return std::bit_cast<Bits>(static_cast<double>(hidden(std::bit_cast<float>(bits))));
                }
                if (from.name == "f64") return (a >> 32 & 0x80000000u) | 0x7fc00000u | (a >> 29 & 0x3fffffu);
                return from.name == "bf16" ? (a & 0xffffu) << 16 : 0x7fffffffu;
              }
              if (ftz && from.subnormal(a)) value = std::copysign(0.0L, value);
              if (integer_mode) value = integral(value, mode.substr(1));
              if (sat) value = value > 0 ? std::fmin(value, 1.0L) : 0;
              const RoundingForTests rounding(narrows ? mode.substr(1) : "rn");
              const long double operand = hidden(value);
              if (wide) return std::bit_cast<Bits>(hidden(static_cast<double>(operand)));
              const auto bits = std::bit_cast<std::uint32_t>(hidden(static_cast<float>(operand)));
              return ftz && (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits;
            });
          }
}

TEST(Convert, PackClampsAndShifts) {
  const auto words = low_words(integer_edges());
  struct Case {
    std::string_view name;
    int bits;
    bool is_signed;
  };
  const std::vector<std::uint32_t> few{0,           1,           0x7f,        0x80, 0xffffff80u,
                                       0xffffff7fu, 0x7fffffffu, 0x80000000u, 200};
  for (const Case& one :
       {Case{"u8", 8, false}, Case{"s8", 8, true}, Case{"u4", 4, false}, Case{"s4", 4, true},
        Case{"u2", 2, false}, Case{"s2", 2, true}, Case{"u16", 16, false}, Case{"s16", 16, true}}) {
    const Integer type{one.name, one.bits, one.is_signed};
    const auto packed = [&](std::uint32_t a, std::uint32_t b) {
      const auto half = [&](std::uint32_t x) {
        return static_cast<std::uint32_t>(type.clamped(static_cast<std::int32_t>(x)) & type.mask());
      };
      return (half(a) << one.bits) | half(b);
    };
    if (one.bits == 16) {
      const std::string text = "cvt.pack.sat." + std::string(one.name) + ".s32";
      float_tests::check_product<std::uint32_t>(find(convert_rows(), text, 3), text, words, few, packed);
    } else {
      const std::string text = "cvt.pack.sat." + std::string(one.name) + ".s32.b32";
      float_tests::check_product<std::uint32_t>(find(convert_rows(), text, 4), text, words, few, few,
                                                [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
                                                  return (c << (2 * one.bits)) | packed(a, b);
                                                });
    }
  }
}

}  // namespace
}  // namespace gpuforge::sim
