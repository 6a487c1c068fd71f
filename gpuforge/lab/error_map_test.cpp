#include "gpuforge/lab/error_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace gpuforge::lab {
namespace {

using testing::ElementsAre;

ErrorMap drawn(const Shape& shape, const std::function<bool(std::int64_t row, std::int64_t column)>& bad) {
  std::vector<bool> wrong;
  const std::int64_t columns = shape.empty() ? 1 : shape.back();
  for (std::int64_t i = 0; i < element_count(shape); ++i) wrong.push_back(bad(i / columns, i % columns));
  return draw_errors(shape, wrong);
}

TEST(LabErrorMap, ACellAnElementWhenItFits) {
  EXPECT_THAT(drawn({3, 4}, [](auto, auto column) { return column == 3; }).lines,
              ElementsAre("...#", "...#", "...#"));
  EXPECT_THAT(drawn({4}, [](auto, auto column) { return column == 0; }).lines, ElementsAre("#..."));
  EXPECT_THAT(drawn({}, [](auto, auto) { return true; }).lines, ElementsAre("#"));
}

TEST(LabErrorMap, LargeOutputsAreCutIntoCells) {
  const ErrorMap map = drawn({64, 100}, [](auto row, auto column) { return column == 99 || row < 4; });
  EXPECT_EQ(map.rows, 64);
  EXPECT_EQ(map.columns, 100);
  EXPECT_EQ(map.cell_rows, 4);
  EXPECT_EQ(map.cell_columns, 4);
  ASSERT_EQ(map.lines.size(), 16u);
  EXPECT_EQ(map.lines[0], std::string(25, '#'));
  EXPECT_EQ(map.lines[1], std::string(24, '.') + "+");
}

TEST(LabErrorMap, TheLastCellsMayBeSmaller) {
  const ErrorMap map = drawn({33, 65}, [](auto row, auto column) { return row == 32 && column >= 63; });
  ASSERT_EQ(map.lines.size(), 11u);
  EXPECT_EQ(map.lines.back().size(), 22u);
  EXPECT_EQ(map.lines.back(), std::string(21, '.') + "+");
  EXPECT_EQ(drawn({17, 3}, [](auto row, auto) { return row == 16; }).lines.back(), "###");
}

TEST(LabErrorMap, AllAxesButTheLastAreRows) {
  EXPECT_THAT(drawn({2, 2, 3}, [](auto row, auto) { return row == 2; }).lines,
              ElementsAre("...", "...", "###", "..."));
}

TEST(LabErrorMap, NothingOfAnEmptyOutput) {
  EXPECT_TRUE(drawn({0, 5}, [](auto, auto) { return true; }).lines.empty());
  EXPECT_TRUE(drawn({5, 0}, [](auto, auto) { return true; }).lines.empty());
}

}  // namespace
}  // namespace gpuforge::lab
