#include "cli/layout_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/base/error.h"

namespace gpuforge::cli {
namespace {

using testing::HasSubstr;

std::string text(std::string_view expression, int columns = 80) {
  return table_text(layout::evaluate(expression), columns);
}
std::string json(std::string_view expression) {
  return table_json(layout::evaluate(expression)).dump();
}
std::string error_of(std::string_view expression) {
  try {
    return text(expression);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  }
}

TEST(LayoutTable, FunctionsOneAfterTheOther) {
  EXPECT_EQ(json("(4,2):(2,1) o 3 o Sw<1,0,1> o 0 o 8:1"), "[6,1,5,3,7,2,6,4]");
  EXPECT_THAT(error_of("8:1 o -5 o Sw<2,0,3>"), HasSubstr("takes any index: it has no shape"));
  EXPECT_THAT(error_of("8:1 o ? o Sw<2,0,3> o 0 o 8:1"), HasSubstr("needs known sizes and strides"));
}

TEST(LayoutTable, Grids) {
  EXPECT_EQ(text("4:2"),
            " 0 1 2 3\n"
            " -------\n"
            " 0 2 4 6\n");
  EXPECT_EQ(text("(2,3):(8,1)"),
            "      0  1  2\n"
            "  +----------\n"
            "0 |   0  1  2\n"
            "1 |   8  9 10\n");
  EXPECT_EQ(text("(2,2,2):(1,2,4)"),
            "(_,_,0)\n"
            "     0 1\n"
            "  +-----\n"
            "0 |  0 2\n"
            "1 |  1 3\n"
            "\n"
            "(_,_,1)\n"
            "     0 1\n"
            "  +-----\n"
            "0 |  4 6\n"
            "1 |  5 7\n");
  EXPECT_EQ(text("Sw<1,0,1> o 0 o 4:1"),
            " 0 1 2 3\n"
            " -------\n"
            " 0 1 3 2\n");
  EXPECT_EQ(text("():()"), " 0\n -\n 0\n");
}

TEST(LayoutTable, ColumnsThatDoNotFitGoOnBelow) {
  const std::string wide = text("(2,128):(128,1)", 60);
  std::size_t longest = 0, start = 0;
  for (std::size_t end; (end = wide.find('\n', start)) != std::string::npos; start = end + 1)
    longest = std::max(longest, end - start);
  EXPECT_LE(longest, 60u);
  EXPECT_GT(longest, 50u);
  EXPECT_THAT(wide, HasSubstr("127"));
  EXPECT_THAT(wide, HasSubstr("\n\n"));
  EXPECT_THAT(text("(2,4):(4,1)", 1), HasSubstr("1 |  7\n"));
}

TEST(LayoutTable, JsonIsNestedByMode) {
  EXPECT_EQ(json("4:2"), "[0,2,4,6]");
  EXPECT_EQ(json("(2,3):(8,1)"), "[[0,1,2],[8,9,10]]");
  EXPECT_EQ(json("(2,(2,2)):(1,(4,2))"), "[[0,4,2,6],[1,5,3,7]]");
  EXPECT_EQ(json("(2,1,2):(1,0,2)"), "[[[0,2]],[[1,3]]]");
  EXPECT_EQ(json("local_tile((4,4):(4,1), (2,2), (1,1))"), "[[10,11],[14,15]]") << "with the offset";
  EXPECT_EQ(json("():()"), "0");
}

TEST(LayoutTable, WhatHasNoGrid) {
  EXPECT_THAT(error_of("(M,4):(4,1)"), HasSubstr("needs known sizes and strides, found (?,4):(4,1)"));
  EXPECT_THAT(error_of("(4,4):(N,1)"), HasSubstr("needs known sizes and strides"));
  EXPECT_THAT(error_of("12"), HasSubstr("--table shows a layout, found 12"));
  EXPECT_THAT(error_of("(2,4)"), HasSubstr("make_layout(..) is the compact layout"));
  EXPECT_THAT(error_of("(2048,2048):(1,2048)"), HasSubstr("at most 1048576 cells"));
  EXPECT_THAT(error_of("(0,4):(1,1)"), HasSubstr("no coordinates"));
}

}  // namespace
}  // namespace gpuforge::cli
