// Worked cases in tests/golden: what CuTe prints for an expression, or that it refuses it. Of tiles and
// slices the index where they begin may follow, after @.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "gpuforge/base/error.h"
#include "gpuforge/layout/expression.h"

namespace gpuforge::layout {
namespace {

constexpr std::string_view kArrow = " -> ";
constexpr std::string_view kRefused = "refused";

std::string shown(const Value& value, bool with_offset) {
  const auto* const part = std::get_if<OffsetLayout>(&value.is);
  const Integer offset = part != nullptr ? part->offset : Integer(0);
  return with_offset ? to_text(value) + " @ " + to_text(IntTuple(offset)) : to_text(value);
}

// The number of cases in the file, each checked.
int check_cases(const std::string& name) {
  std::ifstream file(std::string(GPUFORGE_SOURCE_DIR) + "/tests/golden/" + name);
  EXPECT_TRUE(file.is_open()) << name;
  int cases = 0;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const std::size_t arrow = line.find(kArrow);
    if (arrow == std::string::npos) {
      ADD_FAILURE() << name << ":" << number << ": no ->";
      continue;
    }
    const std::string expression = line.substr(0, arrow), expected = line.substr(arrow + kArrow.size());
    std::string found;
    try {
      found = shown(evaluate(expression), expected.find(" @ ") != std::string::npos);
    } catch (const Error& error) {
      found =
          expected == kRefused && error.code() == ErrorCode::invalid_argument ? kRefused : error.message();
    }
    EXPECT_EQ(found, expected) << name << ":" << number << ": " << expression;
    ++cases;
  }
  return cases;
}

TEST(LayoutGolden, EveryWorkedCaseHolds) {
  EXPECT_GE(check_cases("layout_cases.txt"), 200);
}

TEST(LayoutGolden, EveryWorkedCaseWithUnknownsHolds) {
  EXPECT_GE(check_cases("layout_unknown_cases.txt"), 40);
}

TEST(LayoutGolden, EveryWorkedCaseOfTuplesHolds) {
  EXPECT_GE(check_cases("layout_tuple_cases.txt"), 200);
}

}  // namespace
}  // namespace gpuforge::layout
