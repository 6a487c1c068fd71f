#include <gtest/gtest.h>

#include <algorithm>

#include "gpuforge/sim/lanes/rows_for_tests.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

using namespace lane_tests;
using Number = SignedValue;
using Function = std::function<Number(Number, Number)>;

class Video : public testing::Test {
 protected:
  // Every part by itself in wide numbers; kept in its place, clamped to the destination's range, or summed.
  void check(const std::string& name, int parts, std::string_view a, std::string_view b,
             std::string_view destination, const Function& reference, const std::string& end) {
    const int width = 32 / parts;
    const auto part = [&](std::string_view type) { return std::string{type[0]} + (width == 8 ? "8" : "16"); };
    Values words = edge_values(32, 10);
    words.insert(words.end(), {0x80808080u, 0x7f80ff01u, 0x80007fffu, 0xff00ff00u, 0x01020304u});
    const std::vector<Values> domains{words, words, {0, 0x7fffffffu, 0xfffffff0u}};
    runner_.check(name, handlers_of(video_rows(), name), Shape{{4}, {4, 4, 4}}, domains,
                  [&](const Value* in, Value* out) {
                    Number sum = static_cast<Number>(in[2]);
                    out[0] = 0;
                    for (int shift = 0; shift < 32; shift += width) {
                      Number value =
                          reference(number_of(part(a), in[0] >> shift), number_of(part(b), in[1] >> shift));
                      sum += value;
                      const Number top = Number{1} << (width - 1);
                      if (end == ".sat")
                        value = destination == "s32" ? std::clamp(value, -top, top - 1)
                                                     : std::clamp(value, Number{0}, 2 * top - 1);
                      out[0] |= low(value, width) << shift;
                    }
                    if (end == ".add") out[0] = low(sum, 32);
                  });
  }
  LaneRunner runner_;
};

const std::pair<std::string, Function> kOperations[] = {
    {"vadd", [](Number a, Number b) { return a + b; }},
    {"vsub", [](Number a, Number b) { return a - b; }},
    {"vavrg", [](Number a, Number b) { return a + b >= 0 ? (a + b + 1) / 2 : (a + b - 1) / 2; }},
    {"vabsdiff", [](Number a, Number b) { return std::max(a, b) - std::min(a, b); }},
    {"vmin", [](Number a, Number b) { return std::min(a, b); }},
    {"vmax", [](Number a, Number b) { return std::max(a, b); }},
};

TEST_F(Video, ArithmeticOfParts) {
  for (const auto& [name, reference] : kOperations)
    for (const int parts : {2, 4})
      for (const std::string d : {"u32", "s32"})
        for (const std::string a : {"u32", "s32"})
          for (const std::string b : {"u32", "s32"})
            for (const std::string end : {"", ".sat", ".add"})
              check(name + std::to_string(parts) + "." + d + "." + a + "." + b + end, parts, a, b, d,
                    reference, end);
}

TEST_F(Video, ComparisonsOfParts) {
  const std::pair<std::string, Function> comparisons[] = {
      {"eq", [](Number a, Number b) { return Number{a == b}; }},
      {"ne", [](Number a, Number b) { return Number{a != b}; }},
      {"lt", [](Number a, Number b) { return Number{a < b}; }},
      {"le", [](Number a, Number b) { return Number{a <= b}; }},
      {"gt", [](Number a, Number b) { return Number{a > b}; }},
      {"ge", [](Number a, Number b) { return Number{a >= b}; }},
  };
  for (const auto& [name, reference] : comparisons)
    for (const int parts : {2, 4})
      for (const std::string a : {"u32", "s32"})
        for (const std::string b : {"u32", "s32"})
          for (const std::string end : {"", ".add"})
            check("vset" + std::to_string(parts) + "." + a + "." + b + "." + name + end, parts, a, b, "u32",
                  reference, end);
}

}  // namespace
}  // namespace gpuforge::sim
