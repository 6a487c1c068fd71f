#include "gpuforge/layout/int_tuple.h"

#include <gtest/gtest.h>

#include "gpuforge/base/error.h"

namespace gpuforge::layout {
namespace {

// Deeper and longer than what an IntTuple keeps without memory of its own.
IntTuple long_tuple() {
  TupleBuilder builder;
  builder.open();
  for (int i = 0; i < 20; ++i) {
    builder.open();
    builder.add(Integer(i));
    builder.add(Integer(i + 1));
    builder.close();
  }
  builder.close();
  return builder.take();
}

TEST(IntTuple, AnIntegerIsNoTupleOfOne) {
  const IntTuple integer = 4, one = tuple({4});
  EXPECT_FALSE(integer == one);
  EXPECT_TRUE(integer.is_integer());
  EXPECT_TRUE(one.is_tuple());
  EXPECT_EQ(integer.rank(), 1u);
  EXPECT_EQ(one.rank(), 1u);
  EXPECT_EQ(integer[0].integer(), Integer(4));
  EXPECT_EQ(to_text(one[0]), "4");
  EXPECT_EQ(tuple({}).rank(), 0u);
}

TEST(IntTuple, ViewsWalkTheElements) {
  const IntTuple nested = parse_tuple("((2,4),8,(),(3))");
  EXPECT_EQ(nested.rank(), 4u);
  std::vector<std::string> elements;
  for (const TupleView element : nested.view()) elements.push_back(to_text(element));
  EXPECT_EQ(elements, (std::vector<std::string>{"(2,4)", "8", "()", "(3)"}));
  EXPECT_EQ(to_text(nested[0][1]), "4");
  EXPECT_THROW(nested[4], Error);
  EXPECT_THROW(nested[2][0], Error);
}

TEST(IntTuple, CopiesAndMovesKeepLongTuples) {
  const IntTuple original = long_tuple();
  const std::string text = to_text(original);
  IntTuple copy = original;
  EXPECT_EQ(copy, original);
  IntTuple moved = std::move(copy);
  EXPECT_EQ(to_text(moved), text);
  IntTuple assigned = 3;
  assigned = moved;
  EXPECT_EQ(assigned, moved);
  moved = IntTuple(7);  // from the heap to none
  EXPECT_EQ(to_text(moved), "7");
  EXPECT_EQ(to_text(assigned), text);
  const IntTuple& self = assigned;
  assigned = self;
  EXPECT_EQ(to_text(assigned), text);
}

TEST(IntTuple, BuilderTakesPartsOfOtherTuples) {
  const IntTuple source = long_tuple();
  TupleBuilder builder;
  builder.open();
  for (const TupleView element : source.view()) builder.add(element);
  builder.add(IntTuple::underscore().view());
  builder.close();
  const IntTuple built = builder.take();
  EXPECT_EQ(built.rank(), 21u);
  EXPECT_TRUE(built[19] == source[19]);
  EXPECT_TRUE(built[20].is_underscore());
  EXPECT_TRUE(has_underscore(built));
  EXPECT_FALSE(has_underscore(source));
}

TEST(IntTuple, ProductsAndDepth) {
  EXPECT_EQ(product(parse_tuple("((2,4),8,())")), Integer(64));
  EXPECT_EQ(product(parse_tuple("()")), Integer(1));
  EXPECT_EQ(product(parse_tuple("(2,?)")), Integer::unknown());
  EXPECT_EQ(product(parse_tuple("(0,?)")), Integer(0));
  EXPECT_EQ(to_text(product_each(parse_tuple("((2,4),8)"))), "(8,8)");
  EXPECT_EQ(to_text(product_each(parse_tuple("6"))), "(6)");
  EXPECT_EQ(depth(parse_tuple("3")), 0u);
  EXPECT_EQ(depth(parse_tuple("(3,(4,(5)))")), 3u);
}

TEST(IntTuple, HierarchiesAreCompared) {
  const auto t = [](const char* text) { return parse_tuple(text); };
  EXPECT_TRUE(congruent(t("((2,4),8)"), t("((1,2),3)")));
  EXPECT_FALSE(congruent(t("((2,4),8)"), t("(8,8)")));
  EXPECT_FALSE(congruent(t("4"), t("(4)")));
  EXPECT_TRUE(weakly_congruent(t("(8,8)"), t("((2,4),8)")));
  EXPECT_FALSE(weakly_congruent(t("((2,4),8)"), t("(8,8)")));
  EXPECT_TRUE(compatible(t("(8,8)"), t("((2,4),8)")));
  EXPECT_TRUE(compatible(t("64"), t("((2,4),8)")));
  EXPECT_FALSE(compatible(t("(8,9)"), t("((2,4),8)")));
  EXPECT_FALSE(compatible(t("((2,4),8)"), t("64")));
  EXPECT_FALSE(compatible(t("(?,8)"), t("(?,9)")));
  EXPECT_FALSE(compatible(t("(?,8)"), t("64")));
  EXPECT_THROW(compatible(t("64"), t("(?,8)")), Error);
  EXPECT_THROW(compatible(t("(?,8)"), t("(?,8)")), Error) << "they may be different unknowns";
}

TEST(IntTuple, FlatAndBack) {
  const IntTuple nested = parse_tuple("((2,(4)),8,())");
  EXPECT_EQ(to_text(flatten(nested)), "(2,4,8)");
  EXPECT_EQ(to_text(flatten(IntTuple(5))), "5");
  EXPECT_EQ(unflatten(flatten(nested), nested), nested);
  EXPECT_THROW(unflatten(parse_tuple("(1,2)"), nested), Error);
  EXPECT_THROW(unflatten(parse_tuple("(1,2,3,4)"), nested), Error);
}

}  // namespace
}  // namespace gpuforge::layout
