#include "gpuforge/lab/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace gpuforge::lab {
namespace {

using testing::HasSubstr;

std::string complaint(const std::string& text) {
  try {
    read_suites(text, "s.yaml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::parse);
    return std::string(error.message());
  }
  return "nothing was thrown";
}

TEST(Suite, ACaseIsEveryCombination) {
  const auto suites = read_suites(R"(
fast:
  summary: some
  warmup: 10
  iterations: 50
  cases:
    - op: reduce
      shapes: [[4, 8], [16]]
      dtypes: [f16, float32]
      variants: [naive, best]
      options: {dim: -1, op: [sum, amax]}
    - {op: copy_transpose, shape: [3, 0]}
)",
                                  "s.yaml");
  ASSERT_EQ(suites.size(), 1u);
  const Suite& suite = suites[0];
  EXPECT_EQ(suite.name, "fast");
  EXPECT_EQ(suite.warmup, 10u);
  EXPECT_EQ(suite.iterations, 50u);
  ASSERT_EQ(suite.cases.size(), 17u);
  EXPECT_EQ(to_string(suite.cases[0].problem), "f16 4x8 dim=-1 op=sum");
  EXPECT_EQ(suite.cases[0].variant, "naive");
  EXPECT_EQ(to_string(suite.cases[15].problem), "f32 16 dim=-1 op=amax");
  EXPECT_EQ(to_string(suite.cases[16].problem), "f32 3x0");
  EXPECT_EQ(suite.cases[16].where, "s.yaml:12");
}

TEST(Suite, ABrokenFileGetsItsLineAndWhatWasExpected) {
  const auto with = [](const std::string& line) { return "s:\n  cases:\n    - {" + line + "}\n"; };
  EXPECT_EQ(complaint("s: 5\n"), "s.yaml:1: expected lines of the form `key: value`; found '5'");
  EXPECT_EQ(complaint("- a\n"), "s.yaml:1: expected lines of the form `key: value`; found a list");
  EXPECT_EQ(complaint("s:\n  summary: x\n"), "s.yaml:2: expected the key 'cases'");
  EXPECT_EQ(complaint("s:\n  cases: []\n"), "s.yaml:2: expected at least one case in 's'");
  EXPECT_EQ(complaint("s:\n  iterations: 0\n  cases: [{op: a, shape: [1]}]\n"),
            "s.yaml:2: expected a number of at least 1; found 0");
  EXPECT_EQ(complaint(with("shape: [1]")), "s.yaml:3: expected the key 'op'");
  EXPECT_EQ(complaint(with("op: a")), "s.yaml:3: expected the key 'shape' or 'shapes'");
  EXPECT_EQ(complaint(with("op: a, shape: 4096")), "s.yaml:3: expected a list; found '4096'");
  EXPECT_EQ(complaint(with("op: a, shape: [1, x]")), "s.yaml:3: expected a whole number; found 'x'");
  EXPECT_EQ(complaint(with("op: a, shape: [-1]")), "s.yaml:3: expected an extent of at least 0; found -1");
  EXPECT_EQ(complaint(with("op: a, shapes: []")), "s.yaml:3: expected at least one of 'shapes'");
  EXPECT_EQ(complaint(with("op: a, shape: [1], dtype: f12")),
            "s.yaml:3: expected a dtype such as f16; found 'f12'");
  EXPECT_EQ(complaint(with("op: a, shape: [1], shapes: [[1]]")),
            "s.yaml:3: 'shape' and 'shapes' exclude each other");
  EXPECT_THAT(complaint(with("op: a, shpae: [1]")), HasSubstr("unknown key 'shpae'; did you mean 'shape'?"));
  EXPECT_THAT(complaint(with("op: a, shape: [1], options: {dim: []}")),
              HasSubstr("at least one value of 'dim'"));
  EXPECT_THAT(complaint(with("op: a, shape: [9223372036854775807, 9]")), HasSubstr("s.yaml:3: "));
}

TEST(Suite, TheBuiltInOnesAreThere) {
  const auto suites = built_in_suites();
  std::map<std::string, std::size_t> counts;
  for (const Suite& suite : suites) counts[suite.name] = suite.cases.size();
  const std::map<std::string, std::size_t> expected = {{"smoke", 4},
                                                       {"reduce_sum_short", 16},
                                                       {"reduce_sum_long", 12},
                                                       {"reduce_short", 16},
                                                       {"reduce_long", 12},
                                                       {"copy_transpose_short", 16},
                                                       {"copy_transpose_long", 12},
                                                       {"softmax_online_short", 16},
                                                       {"softmax_online_long", 12}};
  EXPECT_EQ(counts, expected);
  try {
    find_suite(suites, "smok");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.message(),
                HasSubstr("there is no suite 'smok'; did you mean 'smoke'? (there are smoke"));
  }
}

}  // namespace
}  // namespace gpuforge::lab
