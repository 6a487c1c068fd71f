// Layouts and swizzles one after the other, against their definition.
#include "gpuforge/layout/composed.h"

#include <gmock/gmock.h>

#include "gpuforge/base/error.h"
#include "gpuforge/layout/expression.h"
#include "gpuforge/layout/random_layouts_for_tests.h"

namespace gpuforge::layout {
namespace {

using testing::HasSubstr;

Swizzle random_swizzle() {
  const int bits = *rc::gen::inRange(1, 3);
  const int shift = bits + *rc::gen::inRange(0, 3);
  return {bits, *rc::gen::inRange(0, 3), *rc::gen::element(shift, shift, -shift)};
}

std::int64_t at(const Mapping& mapping, std::int64_t coordinate) {
  return crd2idx(IntTuple(coordinate), mapping).value();
}

std::string error_of(const std::string& text) {
  try {
    return to_text(evaluate(text));
  } catch (const Error& error) {
    return error.message();
  }
}

TEST(ComposedLayouts, AreTheirFunctionsOneAfterTheOther) {
  expect_for_all("(A o x o B)(c) == A(x + B(c)), read from its text as well", [] {
    const Layout outer = random_layout({.depth = 2, .most = 64}),
                 inner = random_layout({.depth = 2, .most = 64});
    const Swizzle first = random_swizzle(), second = random_swizzle();
    const std::int64_t x = *rc::gen::inRange(0, 9), y = *rc::gen::inRange(0, 9);
    const Mapping mapping =
        composition(first, x, composition(outer, y, as_mapping(composition(second, 0, inner))));
    const Value read = evaluate(to_text(mapping));
    RC_ASSERT(std::get<ComposedLayout>(read.is) == std::get<ComposedLayout>(mapping));
    for (std::int64_t i = 0; i < size(inner).value(); ++i) {
      const Integer swizzled = second(crd2idx(IntTuple(i), inner));
      const Integer expected = first(Integer(x) + crd2idx(IntTuple(swizzled + y), outer));
      RC_ASSERT(at(mapping, i) == expected.value());
      RC_ASSERT(at(std::get<ComposedLayout>(read.is), i) == expected.value());
    }
  });
}

TEST(ComposedLayouts, InversesInvert) {
  expect_for_all("left_inverse(S o x o A)(S(x + A(c))) == c for compact A", [] {
    const Layout layout(IntTuple(std::int64_t{1} << *rc::gen::inRange(1, 7)));
    const Mapping mapping = as_mapping(composition(random_swizzle(), *rc::gen::inRange(1, 20), layout));
    const Mapping left = left_inverse(mapping), right = right_inverse(mapping);
    for (std::int64_t i = 0; i < size(layout).value(); ++i) {
      RC_ASSERT(at(left, at(mapping, i)) == i);
      RC_ASSERT(at(right, at(mapping, i)) == i);
    }
    RC_ASSERT(right_inverse(right) == mapping);
  });
}

TEST(ComposedLayouts, OperationsOnTheDomainAreComposed) {
  expect_for_all("composition(A o x o B, C)(c) == (A o x o B)(C(c))", [] {
    const Swizzle swizzle = random_swizzle();
    const Mapping mapping =
        composition(swizzle, 3, as_mapping(composition(random_swizzle(), 1, Layout(IntTuple(64)))));
    const Mapping part = composition(mapping, Mapping(Layout(tuple({4, 4}), tuple({16, 2}))));
    for (std::int64_t i = 0; i < 16; ++i) RC_ASSERT(at(part, i) == at(mapping, i % 4 * 16 + i / 4 * 2));
  });
}

TEST(ComposedLayouts, RefusalsNameTheOperationAndItsOperands) {
  EXPECT_EQ(error_of("right_inverse(Sw<1,1,3> o ? o 16:1)"),
            "layout: right_inverse(Sw<1,1,3> o ? o 16:1): the offset of Sw<1,1,3> o ? o 16:1 is not known");
  EXPECT_EQ(error_of("composition(Sw<2,0,3>, Sw<2,0,3> o 0 o 64:1)"),
            "layout: composition(Sw<2,0,3>, Sw<2,0,3> o 0 o 64:1): a swizzle is composed with a swizzle or a "
            "layout; with Sw<2,0,3> o 0 o 64:1 by composition(swizzle, 0, A)");
  EXPECT_THAT(
      error_of("composition(8:1, Sw<2,0,3> o 5 o 64:1)"),
      HasSubstr("composition(8:1, Sw<2,0,3> o 5 o 64:1): the offset of Sw<2,0,3> o 5 o 64:1 must be 0"));
  EXPECT_THAT(error_of("slice((_,3), composition(Sw<2,0,3>, 0, Sw<2,0,3> o 0 o (8,8):(8,1)))"),
              HasSubstr("slice((_,3), Sw<2,0,3> o 0 o Sw<2,0,3> o 0 o (8,8):(8,1)): of a swizzle behind"));
  EXPECT_THAT(error_of("max_common_layout(Sw<2,0,3> o 0 o 64:1, Sw<2,0,3> o 0 o 64:1)"),
              HasSubstr("max_common_layout(Sw<2,0,3> o 0 o 64:1, Sw<2,0,3> o 0 o 64:1): one of the two"));
  EXPECT_THAT(error_of("logical_product(4:1, composition(Sw<2,0,3>, 0, Sw<2,0,3> o 0 o 64:1))"),
              HasSubstr("is no layout to repeat by"));
  for (const char* const operation :
       {"stride(A)", "dice((_,1), A)", "make_layout_like(A)", "filter(A)", "append(A, 3, A)"}) {
    Bindings bindings = {{"A", evaluate("Sw<2,0,3> o 0 o (8,8):(8,1)")}};
    try {
      ADD_FAILURE() << operation << " gave " << to_text(evaluate(operation, bindings));
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr("a layout without a swizzle")) << operation;
    }
  }
}

}  // namespace
}  // namespace gpuforge::layout
