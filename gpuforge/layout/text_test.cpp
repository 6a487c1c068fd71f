#include <gmock/gmock.h>

#include "gpuforge/base/error.h"
#include "gpuforge/layout/expression.h"
#include "gpuforge/layout/random_layouts_for_tests.h"

namespace gpuforge::layout {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <class Run>
Error error_of(const Run& run) {
  try {
    run();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no Error";
  return Error(ErrorCode::internal, "none");
}

TEST(LayoutText, WhatIsPrintedIsReadAgain) {
  for (const char* text : {"7", "-3", "?", "_", "()", "(4)", "((2,4),8)", "(?,_,(1))", "(((7)))"})
    EXPECT_EQ(to_text(parse_tuple(text)), text);
  for (const char* text :
       {"7:1", "(4):(1)", "((2,4),8):((1,2),8)", "(?,?):(?,1)", "():()", "(2,(3,())):(-1,(0,()))"}) {
    EXPECT_EQ(to_text(parse_layout(text)), text);
    EXPECT_EQ(to_text(evaluate(text)), text);
  }
  for (const char* text :
       {"Sw<3,4,3> o 0 o (8,64):(64,1)", "Sw<1,2,-3> o 8 o 4:1", "Sw<2,0,2> o ? o (?,4):(4,1)", "Sw<3,4,3>"})
    EXPECT_EQ(to_text(evaluate(text)), text);
}

TEST(LayoutText, AnyLayoutSurvivesPrintingAndReading) {
  expect_for_all("parse(print(A)) == A", [] {
    const Layout a = random_layout({.zeros = true});
    RC_ASSERT(parse_layout(to_text(a)) == a);
    RC_ASSERT(parse_tuple(to_text(a.stride().view())) == a.stride());
    RC_ASSERT(to_text(evaluate(to_text(a))) == to_text(a));
  });
}

TEST(LayoutText, CuteWritesCompileTimeIntegersWithAnUnderscore) {
  EXPECT_EQ(to_text(parse_layout("(_2,_4):(_1,_2)")), "(2,4):(1,2)");
  EXPECT_EQ(to_text(parse_tuple(" ( 2 , ( 4 ) ) ")), "(2,(4))");
  EXPECT_EQ(to_text(parse_layout("(2,4)")), "(2,4):(1,2)");
}

TEST(LayoutText, MalformedTextTellsTheColumn) {
  struct Case {
    const char* text;
    const char* column;
    const char* expected;
  };
  for (const Case& one : {Case{"", "column 1", "a number"}, Case{"(2,4", "column 5", "',' or ')'"},
                          Case{"(2 4)", "column 4", "',' or ')'"}, Case{"(2,,4)", "column 4", "a number"},
                          Case{"4)", "column 2", "the end"}, Case{"(2,x)", "column 4", "a number"},
                          Case{"9223372036854775808", "column 1", "63 bits"},
                          Case{"-9223372036854775808", "column 1", "63 bits"}}) {
    const Error error = error_of([&] { parse_tuple(one.text); });
    EXPECT_EQ(error.code(), ErrorCode::parse) << one.text;
    EXPECT_THAT(error.what(), AllOf(HasSubstr(one.column), HasSubstr(one.expected))) << one.text;
  }
  EXPECT_EQ(to_text(parse_tuple("9223372036854775807")), "9223372036854775807");
  EXPECT_THAT(error_of([] { parse_layout("4:"); }).what(), HasSubstr("column 3"));
  EXPECT_THAT(error_of([] { parse_layout("4:1:2"); }).what(), HasSubstr("column 4"));
}

TEST(LayoutText, DepthIsLimitedInsteadOfTheStack) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '(') + "4" + std::string(depth, ')');
  };
  EXPECT_EQ(to_text(parse_tuple(nested(60))), nested(60));
  EXPECT_THAT(error_of([&] { parse_tuple(nested(100'000)); }).what(), HasSubstr("levels"));
  EXPECT_THAT(error_of([&] { evaluate(nested(100'000)); }).what(), HasSubstr("levels"));
}

}  // namespace
}  // namespace gpuforge::layout
