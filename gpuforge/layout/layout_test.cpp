// What cannot be said by a property or a golden case: Errors, and values that are not admissible.
#include "gpuforge/layout/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/base/error.h"
#include "gpuforge/layout/expression.h"

namespace gpuforge::layout {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

std::string message_of(std::string_view expression) {
  try {
    return "no Error but " + to_text(evaluate(expression));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << expression;
    return error.message();
  }
}

TEST(LayoutErrors, NameTheOperationAndBothOperands) {
  EXPECT_THAT(message_of("composition((6,4):(1,9), 2:9)"),
              AllOf(HasSubstr("composition((6,4):(1,9), 2:9)"), HasSubstr("neither divides the other")));
  EXPECT_THAT(message_of("composition((6,2):(3,1), 8:1)"),
              AllOf(HasSubstr("composition((6,2):(3,1), 8:1)"), HasSubstr("do not fill")));
  EXPECT_THAT(message_of("zipped_divide((8,8), (2,2,2))"),
              AllOf(HasSubstr("zipped_divide((8,8):(1,8), (2,2,2))"), HasSubstr("more modes")));
  EXPECT_THAT(message_of("complement((4,4):(1,2), 24)"),
              AllOf(HasSubstr("complement((4,4):(1,2), 24)"), HasSubstr("same index")));
  EXPECT_THAT(message_of("complement((4,4):(?,1), 24)"), HasSubstr("complement((4,4):(?,1), 24)"));
  EXPECT_THAT(message_of("left_inverse((3,2):(2,3))"), HasSubstr("left_inverse((3,2):(2,3))"));
  EXPECT_THAT(message_of("upcast(4:3, 2)"), HasSubstr("upcast(4:3, 2)"));
  EXPECT_THAT(message_of("downcast(4:2, 2)"), HasSubstr("downcast(4:2, 2)"));
  EXPECT_THAT(message_of("tile_to_shape((3,2), (4,4))"), HasSubstr("tile_to_shape((3,2):(1,3), (4,4))"));
  EXPECT_THAT(message_of("slice((1,_,2), (8,8))"), HasSubstr("slice((1,_,2), (8,8)"));
  EXPECT_THAT(message_of("group_modes((8,8):(1,8), 1, 4)"), HasSubstr("group_modes((8,8):(1,8), 1, 4)"));
}

TEST(LayoutErrors, NegativeAndOverflowingSizesAreRefused) {
  EXPECT_THAT(message_of("-4:1"), HasSubstr("a size is 0 or more"));
  EXPECT_THAT(message_of("(4,(2,-1)):(1,(4,8))"), HasSubstr("a size is 0 or more"));
  EXPECT_THAT(message_of("complement(4:-1, 8)"), HasSubstr("complement(4:-1, 8)"));
  EXPECT_THAT(message_of("make_layout((4294967296,4294967296,2))"), HasSubstr("63 bits"));
  EXPECT_THAT(message_of("size((4294967296,4294967296):(0,0))"), HasSubstr("63 bits"));
  EXPECT_THAT(message_of("cosize((4294967296,2):(4294967296,0))"), HasSubstr("63 bits"));
}

TEST(LayoutErrors, AnUnderscoreIsNoNumber) {
  for (const char* expression :
       {"size((_,4))", "compact_col_major((_,4))", "compact_row_major(_)",
        "make_ordered_layout((2,4), (_,0))", "idx2crd(_, (2,4))", "idx2crd(3, (2,_))",
        "idx2crd(3, (2,4), (1,_))", "crd2crd(_, 8, (2,4))", "crd2crd(3, 8, (2,_))", "crd2idx((_,1), (2,4))",
        "complement(4:1, (_,4))", "tile_to_shape(4:1, (_))"})
    EXPECT_THAT(message_of(expression), AnyOf(HasSubstr("numbers are expected"), HasSubstr("_ has no size")))
        << expression;
}

TEST(LayoutErrors, ShapeAndStrideAreCongruent) {
  EXPECT_THAT(message_of("(2,4):1"), AllOf(HasSubstr("(2,4)"), HasSubstr("not congruent")));
  EXPECT_THAT(message_of("(2,(4)):(1,2)"), HasSubstr("not congruent"));
  EXPECT_THAT(message_of("(2,_):(1,2)"), HasSubstr("a shape has numbers"));
  EXPECT_THAT(message_of("(2,4):(1,_)"), HasSubstr("not congruent"));
}

TEST(LayoutValue, ManyModesNeedMemoryAndStayRight) {
  TupleBuilder shape;
  shape.open();
  for (int i = 0; i < 40; ++i) shape.add(Integer(2));
  shape.close();
  const Layout many(shape.take());
  EXPECT_EQ(size(many), Integer(std::int64_t{1} << 40));
  EXPECT_EQ(to_text(coalesce(many)), "1099511627776:1");
  EXPECT_EQ(right_inverse(many), coalesce(many));
  const Layout halves = logical_divide(many, Tiler(Integer(1024)));
  EXPECT_EQ(to_text(halves), "(1024,1073741824):(1,1024)");
  const Layout copy = many;
  EXPECT_EQ(composition(copy, Layout(IntTuple(8))), Layout(IntTuple(8)));
}

TEST(LayoutValue, DefaultsAreTheTrivialLayout) {
  EXPECT_EQ(to_text(Layout()), "1:0");
  EXPECT_EQ(to_text(make_layout({})), "():()");
  EXPECT_EQ(Layout().rank(), 1u);
}

}  // namespace
}  // namespace gpuforge::layout
