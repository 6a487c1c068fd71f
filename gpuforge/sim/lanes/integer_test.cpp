#include <gtest/gtest.h>

#include "gpuforge/sim/lanes/rows_for_tests.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

using namespace lane_tests;

constexpr const char* kTypes[] = {"u16", "s16", "u32", "s32", "u64", "s64"};
using Number = SignedValue;
using Function = std::function<Number(const Number*)>;

class Integer : public testing::Test {
 protected:
  // Of one type all through; the reference gives a number, of which the low bits count.
  void check(const std::string& name, std::string_view type, int sources, const Function& reference,
             int result_width = 0, int wide_source = -1) {
    const int width = width_of(type);
    const int result = result_width == 0 ? width : result_width;
    Shape shape{{row_bytes(result)}, {}};
    std::vector<Values> domains;
    for (int i = 0; i < sources; ++i) {
      const int source_width = i == wide_source ? result : width;
      shape.inputs.push_back(row_bytes(source_width));
      domains.push_back(edge_values(source_width, sources == 3 ? 1 : 6));
    }
    runner_.check(name, handlers_of(integer_rows(), name), shape, domains, [&](const Value* in, Value* out) {
      Number numbers[3] = {};
      for (int i = 0; i < sources; ++i)
        numbers[i] = i == wide_source ? static_cast<Number>(in[i]) : number_of(type, in[i]);
      out[0] = low(reference(numbers), result);
    });
  }
  // Each part of a word by itself.
  void check_packed(const std::string& name, std::string_view part_type, int sources,
                    const Function& reference) {
    const int width = part_type.find('8') != std::string_view::npos ? 8 : 16;
    const Shape shape{{4}, std::vector<int>(static_cast<std::size_t>(sources), 4)};
    Values words = edge_values(32, 40);
    for (const Value word : {0x80008000u, 0x7fff8000u, 0xffff0001u, 0x80808080u, 0x7f80ff01u, 0x00ff00ffu})
      words.push_back(word);
    const std::vector<Values> domains(static_cast<std::size_t>(sources), words);
    const std::string_view type =
        width == 8 ? (part_type[0] == 's' ? "s8" : "u8") : (part_type[0] == 's' ? "s16" : "u16");
    runner_.check(name, handlers_of(integer_rows(), name), shape, domains, [&](const Value* in, Value* out) {
      out[0] = 0;
      for (int shift = 0; shift < 32; shift += width) {
        Number numbers[2] = {};
        for (int i = 0; i < sources; ++i) numbers[i] = number_of(type, in[i] >> shift);
        out[0] |= low(reference(numbers), width) << shift;
      }
    });
  }
  void refused(const std::string& name) {
    EXPECT_EQ(handlers_of(integer_rows(), name).full, nullptr) << name;
  }
  LaneRunner runner_;
};

Number clamp(std::string_view type, int width, Number value) {
  const Number one = 1;
  const Number lowest = type[0] == 's' ? -(one << (width - 1)) : 0;
  const Number highest = type[0] == 's' ? (one << (width - 1)) - 1 : (one << width) - 1;
  return value < lowest ? lowest : value > highest ? highest : value;
}
// The top half of a product, rounded down, from four partial products: 64 x 64 bits exceed a Number.
Number product_high(Number a, Number b, int width) {
  if (width < 64) return (a * b) >> width;
  const Number half = Number{1} << 32;
  const Number a1 = a >> 32, a0 = a & (half - 1), b1 = b >> 32, b0 = b & (half - 1);
  const Number middle = a1 * b0 + ((a0 * b0) >> 32);
  const Number other = a0 * b1 + (middle & (half - 1));
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

TEST_F(Integer, AddSubWrap) {
  for (const char* type : kTypes) {
    check(std::string("add.") + type, type, 2, [](const Number* x) { return x[0] + x[1]; });
    check(std::string("sub.") + type, type, 2, [](const Number* x) { return x[0] - x[1]; });
  }
  refused("add.b32");
  refused("add.f32");
  refused("sub.u16x2");
}

TEST_F(Integer, Saturating) {
  for (const char* type : {"s32", "u32"})
    for (const std::string& name : {std::string("add.sat.") + type, std::string("add.") + type + ".sat"})
      check(name, type, 2, [&](const Number* x) { return clamp(type, 32, x[0] + x[1]); });
  check("sub.sat.s32", "s32", 2, [](const Number* x) { return clamp("s32", 32, x[0] - x[1]); });
  refused("sub.sat.u32");
  refused("add.sat.s64");
  refused("add.sat.u16");
}

TEST_F(Integer, Packed) {
  for (const std::string type : {"u16x2", "s16x2", "u8x4", "s8x4"}) {
    const int width = type.find('8') == 1 ? 8 : 16;
    check_packed("add." + type, type, 2, [](const Number* x) { return x[0] + x[1]; });
    check_packed("add.sat." + type, type, 2,
                 [&](const Number* x) { return clamp(type, width, x[0] + x[1]); });
    check_packed("min." + type, type, 2, [](const Number* x) { return std::min(x[0], x[1]); });
    check_packed("max." + type, type, 2, [](const Number* x) { return std::max(x[0], x[1]); });
    if (width == 8) {
      check_packed("sub." + type, type, 2, [](const Number* x) { return x[0] - x[1]; });
      check_packed("sub.sat." + type, type, 2,
                   [&](const Number* x) { return clamp(type, width, x[0] - x[1]); });
    }
    if (type[0] != 's') continue;
    const auto relu_min = [](const Number* x) { return std::max<Number>(std::min(x[0], x[1]), 0); };
    const auto relu_max = [](const Number* x) { return std::max<Number>(std::max(x[0], x[1]), 0); };
    check_packed("min.relu." + type, type, 2, relu_min);
    check_packed("max.relu." + type, type, 2, relu_max);
    check_packed("min." + type + ".relu", type, 2, relu_min);
  }
  check_packed("neg.s8x4", "s8x4", 1, [](const Number* x) { return -x[0]; });
  refused("min.relu.u16x2");
}

TEST_F(Integer, Multiply) {
  for (const std::string type : kTypes) {
    const int width = width_of(type);
    check("mul.lo." + type, type, 2,
          [](const Number* x) { return static_cast<Number>(Value(x[0]) * Value(x[1])); });
    check("mul.hi." + type, type, 2, [&](const Number* x) { return product_high(x[0], x[1], width); });
    check("mad.lo." + type, type, 3,
          [](const Number* x) { return static_cast<Number>(Value(x[0]) * Value(x[1]) + Value(x[2])); });
    check("mad.hi." + type, type, 3, [&](const Number* x) { return product_high(x[0], x[1], width) + x[2]; });
    if (width == 64) continue;
    check(
        "mul.wide." + type, type, 2, [](const Number* x) { return x[0] * x[1]; }, 2 * width);
    check(
        "mad.wide." + type, type, 3, [](const Number* x) { return x[0] * x[1] + x[2]; }, 2 * width, 2);
  }
  check("mad.hi.sat.s32", "s32", 3,
        [](const Number* x) { return clamp("s32", 32, product_high(x[0], x[1], 32) + x[2]); });
  refused("mul.wide.u64");
  refused("mad.lo.sat.s32");
}

TEST_F(Integer, Multiply24) {
  for (const std::string type : {"u32", "s32"}) {
    const auto product = [&](const Number* x) {
      const auto low24 = [&](Number value) {
        const Number bits = value & 0xffffff;
        return type == "s32" && bits >= 0x800000 ? bits - 0x1000000 : bits;
      };
      return low24(x[0]) * low24(x[1]);
    };
    check("mul24.lo." + type, type, 2, product);
    check("mul24.hi." + type, type, 2, [&](const Number* x) { return product(x) >> 16; });
    check("mad24.lo." + type, type, 3, [&](const Number* x) { return product(x) + x[2]; });
    check("mad24.hi." + type, type, 3, [&](const Number* x) { return (product(x) >> 16) + x[2]; });
    if (type == "s32")
      check("mad24.hi.sat.s32", type, 3,
            [&](const Number* x) { return clamp(type, 32, (product(x) >> 16) + x[2]); });
  }
}

TEST_F(Integer, DivideAsTheGpuByZero) {
  for (const std::string type : kTypes) {
    check("div." + type, type, 2, [](const Number* x) { return x[1] == 0 ? Number{-1} : x[0] / x[1]; });
    check("rem." + type, type, 2, [](const Number* x) { return x[1] == 0 ? Number{-1} : x[0] % x[1]; });
  }
}

TEST_F(Integer, AbsNegMinMaxSad) {
  for (const std::string type : kTypes) {
    check("min." + type, type, 2, [](const Number* x) { return std::min(x[0], x[1]); });
    check("max." + type, type, 2, [](const Number* x) { return std::max(x[0], x[1]); });
    check("sad." + type, type, 3,
          [](const Number* x) { return x[2] + (x[0] < x[1] ? x[1] - x[0] : x[0] - x[1]); });
    if (type[0] == 'u') {
      refused("abs." + type);
      refused("neg." + type);
      refused("min.relu." + type);
      continue;
    }
    check("abs." + type, type, 1, [](const Number* x) { return x[0] < 0 ? -x[0] : x[0]; });
    check("neg." + type, type, 1, [](const Number* x) { return -x[0]; });
  }
  for (const char* name : {"min.relu.s32", "min.s32.relu"})
    check(name, "s32", 2, [](const Number* x) { return std::max<Number>(std::min(x[0], x[1]), 0); });
  for (const char* name : {"max.relu.s32", "max.s32.relu"})
    check(name, "s32", 2, [](const Number* x) { return std::max<Number>(std::max(x[0], x[1]), 0); });
  refused("min.relu.s64");
}

TEST_F(Integer, DotProducts) {
  for (const std::string a : {"u32", "s32"})
    for (const std::string b : {"u32", "s32"}) {
      const std::string byte_a{a[0], '8'}, half_a = a[0] + std::string("16"), byte_b{b[0], '8'};
      const Shape shape{{4}, {4, 4, 4}};
      Values words = edge_values(32, 8);
      words.insert(words.end(), {0x80808080u, 0x7f807f80u, 0x80017fffu});
      const std::vector<Values> domains{words, words, {0, 0x7fffffffu, 0x80000000u, 0xfffffff0u}};
      const auto dot = [&](const std::string& part, int parts, int first) {
        return [=](const Value* in, Value* out) {
          Number sum = static_cast<Number>(in[2]);
          for (int i = 0; i < parts; ++i)
            sum += number_of(part, in[0] >> (i * 32 / parts)) * number_of(byte_b, in[1] >> ((first + i) * 8));
          out[0] = low(sum, 32);
        };
      };
      const std::string types = a + "." + b;
      runner_.check("dp4a." + types, handlers_of(integer_rows(), "dp4a." + types), shape, domains,
                    dot(byte_a, 4, 0));
      runner_.check("dp2a.lo." + types, handlers_of(integer_rows(), "dp2a.lo." + types), shape, domains,
                    dot(half_a, 2, 0));
      runner_.check("dp2a.hi." + types, handlers_of(integer_rows(), "dp2a.hi." + types), shape, domains,
                    dot(half_a, 2, 2));
    }
}

}  // namespace
}  // namespace gpuforge::sim
