// Every operation of the algebra against its definition, by enumeration.
#include <set>

#include "gpuforge/base/error.h"
#include "gpuforge/layout/random_layouts_for_tests.h"

namespace gpuforge::layout {
namespace {

TEST(LayoutProperty, CompositionIsOneFunctionAfterTheOther) {
  expect_for_all("composition(A, B)(c) == A(B(c))", [] {
    const Layout a = random_layout({.sizes = kPowersOfTwo, .zeros = true});
    const Layout b = random_layout_into(count_of(a));
    const Layout result = composition(a, b);
    RC_ASSERT(compatible(b.shape(), result.shape()));
    for (std::int64_t i = 0; i < count_of(b); ++i)
      RC_ASSERT(index_at(result, i) == index_at(a, index_at(b, i)));
  });
}

// Whether each stride steps over whole modes, or takes a divisor of one. Other strides round up, as CuTe does
// to cover what does not divide.
bool strides_divide(const Layout& a, const Layout& b) {
  const FlatModes modes = flat_modes(coalesce(a));
  for (const FlatMode& mode : flat_modes(b)) {
    std::int64_t stride = mode.stride.value();
    for (std::size_t i = 0; i + 1 < modes.size() && stride != 0; ++i) {
      const std::int64_t size = modes[i].shape.value();
      if (stride % size != 0 && size % stride != 0) return false;
      stride = std::max<std::int64_t>(1, stride / size);
    }
  }
  return true;
}

TEST(LayoutProperty, CompositionOfAnySizesIsRightOrRefused) {
  expect_for_all("composition(A, B) of any sizes", [] {
    const Layout a = random_layout({.depth = 2}), b = random_layout({.depth = 2, .zeros = true, .most = 24});
    RC_PRE(cosize(b).value() <= count_of(a) && strides_divide(a, b));
    RC_LOG() << to_text(a) << " after " << to_text(b);
    Layout result;
    try {
      result = composition(a, b);
    } catch (const Error&) {
      RC_TAG("refused");
      return;
    }
    RC_TAG("composed");
    RC_ASSERT(count_of(result) == count_of(b));
    for (std::int64_t i = 0; i < count_of(b); ++i)
      RC_ASSERT(index_at(result, i) == index_at(a, index_at(b, i)));
  });
}

TEST(LayoutProperty, CompositionByModeComposesEachMode) {
  expect_for_all("composition(A, (B0, B1))", [] {
    const Layout a0 = random_layout({.sizes = kPowersOfTwo, .depth = 2, .most = 64});
    const Layout a1 = random_layout({.sizes = kPowersOfTwo, .depth = 2, .most = 64});
    const Layout b0 = random_layout_into(count_of(a0)), b1 = random_layout_into(count_of(a1));
    const Layout by_mode = composition(make_layout({a0, a1}), Tiler(Tiler::Modes{b0, b1}));
    RC_ASSERT(by_mode == make_layout({composition(a0, b0), composition(a1, b1)}));
    const Layout untouched = composition(make_layout({a0, a1}), Tiler(Tiler::Modes{Tiler::Whole{}, b1}));
    RC_ASSERT(untouched == make_layout({a0, composition(a1, b1)}));
  });
}

TEST(LayoutProperty, ComplementIsDisjointOrderedAndComplete) {
  expect_for_all("complement(A, n)", [] {
    const Layout a = random_layout({.depth = 2, .zeros = true, .most = 64});
    const std::int64_t target = *rc::gen::inRange<std::int64_t>(1, 400);
    const Layout rest = complement(a, IntTuple(target));
    const Indices taken = indices_of(filter(a)), left = indices_of(rest);
    for (std::size_t i = 1; i < left.size(); ++i) RC_ASSERT(left[i - 1] < left[i]);
    const std::set<std::int64_t> of_a(taken.begin(), taken.end());
    for (std::size_t i = 1; i < left.size(); ++i) RC_ASSERT(of_a.count(left[i]) == 0);
    std::set<std::int64_t> reached;
    for (const std::int64_t one : taken)
      for (const std::int64_t other : left) RC_ASSERT(reached.insert(one + other).second);
    for (std::int64_t i = 0; i < target; ++i) RC_ASSERT(reached.count(i) == 1);
  });
}

TEST(LayoutProperty, RightInverseInverts) {
  expect_for_all("A(right_inverse(A)(i)) == i", [] {
    const Layout a = random_layout({.zeros = true});
    const Layout inverse = right_inverse(a);
    for (std::int64_t i = 0; i < count_of(inverse); ++i) RC_ASSERT(index_at(a, index_at(inverse, i)) == i);
  });
  expect_for_all("a compact layout has a whole inverse", [] {
    const Layout a = random_layout({.gaps = false});
    RC_ASSERT(count_of(right_inverse(a)) == count_of(a));
  });
}

TEST(LayoutProperty, LeftInverseInverts) {
  expect_for_all("left_inverse(A)(A(i)) == i", [] {
    const Layout a = random_layout();
    const Layout inverse = left_inverse(a);
    for (std::int64_t i = 0; i < count_of(a); ++i) RC_ASSERT(index_at(inverse, index_at(a, i)) == i);
  });
}

TEST(LayoutProperty, NullspaceIsSentToZero) {
  expect_for_all("A(nullspace(A)(i)) == 0", [] {
    const Layout a = random_layout({.zeros = true});
    const Layout null = nullspace(a);
    const Indices of_null = indices_of(null);
    for (const std::int64_t i : of_null) RC_ASSERT(index_at(a, i) == 0);
    const Indices of_a = indices_of(a);
    RC_ASSERT(std::count(of_a.begin(), of_a.end(), 0) == static_cast<std::ptrdiff_t>(of_null.size()));
  });
}

TEST(LayoutProperty, CoalesceFlattenAndFilterKeepTheFunction) {
  expect_for_all("coalesce and flatten", [] {
    const Layout a = random_layout({.zeros = true});
    const Layout few = coalesce(a);
    RC_ASSERT(indices_of(few) == indices_of(a));
    RC_ASSERT(depth(few) <= 1);
    RC_ASSERT(few.rank() <= flatten(a).rank());
    RC_ASSERT(coalesce(few) == few);
    if (few.rank() > 1)
      for (const FlatMode& mode : flat_modes(few)) RC_ASSERT(!mode.shape.is(1));
    RC_ASSERT(indices_of(flatten(a)) == indices_of(a));
    RC_ASSERT(depth(flatten(a)) <= 1);
    if (a.shape().is_tuple()) RC_ASSERT(unflatten(flatten(a), a.shape()) == a);
    const Layout by_mode = coalesce(a, IntTuple(TupleView(compact_row_major(a.shape()))));
    RC_ASSERT(congruent(by_mode.shape(), a.shape()));
    RC_ASSERT(indices_of(by_mode) == indices_of(a));
  });
  expect_for_all("filter has the same indices, each once", [] {
    const Layout a = random_layout({.zeros = true});
    const Indices all = indices_of(a);
    const std::set<std::int64_t> once(all.begin(), all.end());
    RC_ASSERT(sorted(indices_of(filter(a))) == Indices(once.begin(), once.end()));
    RC_ASSERT(congruent(filter_zeros(a).shape(), a.shape()));
    RC_ASSERT(sorted(indices_of(filter_zeros(a))) == Indices(once.begin(), once.end()));
  });
}

TEST(LayoutProperty, ModesAreMovedWhole) {
  expect_for_all("group, append, prepend, replace, take, select", [] {
    const Layout a = random_layout({.depth = 2, .most = 64}), b = random_layout({.depth = 1, .most = 8});
    const std::size_t rank = a.rank();
    RC_PRE(rank > 0);
    const auto begin = static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(rank)));
    const auto end = static_cast<std::size_t>(
        *rc::gen::inRange<int>(static_cast<int>(begin) + 1, static_cast<int>(rank) + 1));
    const Layout grouped = group_modes(a, begin, end);
    RC_ASSERT(indices_of(grouped) == indices_of(a));
    RC_ASSERT(grouped.rank() == rank - (end - begin) + 1);
    RC_ASSERT(grouped.mode(begin) == take(a, begin, end));
    RC_ASSERT(append(a, b).mode(rank) == b);
    RC_ASSERT(prepend(a, b).mode(0) == b);
    RC_ASSERT(prepend(a, b).mode(1) == a.mode(0));
    if (a.shape().is_tuple()) {
      RC_ASSERT(replace(a, begin, b).mode(begin) == b);
      RC_ASSERT(replace(a, begin, a.mode(begin)) == a);
    }
    RC_ASSERT(select(a, {end - 1, begin}).mode(0) == a.mode(end - 1));
  });
}

TEST(LayoutProperty, CommonLayoutIsTheIdentityInBoth) {
  expect_for_all("max_common_layout and max_common_vector", [] {
    const Layout a = random_layout({.sizes = kPowersOfTwo, .depth = 2});
    const Layout b = random_layout({.sizes = kPowersOfTwo, .depth = 2, .gaps = false, .most = count_of(a)});
    RC_PRE(count_of(a) == count_of(b));
    const Layout common = max_common_layout(a, b);
    for (std::int64_t i = 0; i < count_of(common); ++i) {
      RC_ASSERT(index_at(a, index_at(common, i)) == i);
      RC_ASSERT(index_at(b, index_at(common, i)) == i);
    }
    RC_ASSERT(max_common_vector(a, b) == Integer(count_of(common)));
  });
}

TEST(LayoutProperty, CoordinatesAndIndicesAreInverse) {
  expect_for_all("crd2idx and idx2crd", [] {
    const Layout a = random_layout();
    const IntTuple other = random_shape({.most = count_of(a)});
    for (std::int64_t i = 0; i < count_of(a); ++i) {
      const IntTuple coordinate = idx2crd(IntTuple(i), a.shape());
      RC_ASSERT(congruent(coordinate, a.shape()));
      RC_ASSERT(crd2idx(coordinate, a.shape()) == Integer(i));
      RC_ASSERT(crd2idx(coordinate, a) == Integer(index_at(a, i)));
      RC_ASSERT(crd2idx(IntTuple(i), a) == Integer(index_at(a, i)));
      // A flat shape's coordinate of the same element.
      RC_ASSERT(crd2idx(crd2crd(IntTuple(i), a.shape(), other), other) == Integer(i));
    }
    if (count_of(a) > 0 && count_of(filter(a)) == count_of(a))
      for (std::int64_t i = 0; i < count_of(a); ++i) {
        const IntTuple strides = compact_col_major(a.shape());
        RC_ASSERT(idx2crd(IntTuple(i), a.shape(), strides) == idx2crd(IntTuple(i), a.shape()));
      }
  });
}

// `_` at some places, coordinates at the others.
void add_part_coordinate(TupleView shape, TupleBuilder& builder) {
  if (*rc::gen::inRange(0, 3) == 0) return builder.add(IntTuple::underscore().view());
  if (!shape.is_tuple())
    return builder.add(Integer(*rc::gen::inRange<std::int64_t>(0, product(shape).value())));
  builder.open();
  for (const TupleView part : shape) add_part_coordinate(part, builder);
  builder.close();
}

TEST(LayoutProperty, SlicesAddUp) {
  expect_for_all("slice and dice part the modes", [] {
    const Layout a = random_layout({.sizes = {2, 3, 4}, .most = 64});
    TupleBuilder builder;
    add_part_coordinate(a.shape(), builder);
    const IntTuple coordinate = builder.take();
    const Layout kept = slice(coordinate, a), fixed = dice(coordinate, a);
    RC_ASSERT(count_of(kept) * count_of(fixed) == count_of(a));
    // All positions of the fixed modes together give every index once.
    Indices all;
    for (const std::int64_t one : indices_of(fixed))
      for (const std::int64_t other : indices_of(kept)) all.push_back(one + other);
    RC_ASSERT(sorted(all) == sorted(indices_of(a)));
    const IntTuple numbers = dice(coordinate, coordinate);
    if (flatten(numbers).is_tuple() && flatten(numbers).rank() == 0) return;
    RC_ASSERT(crd2idx(numbers, fixed) == crd2idx(coordinate, a));
  });
}

TEST(LayoutProperty, CompactLayoutsCountInTheirOrder) {
  expect_for_all("make_ordered_layout, make_layout_like, compact strides", [] {
    const IntTuple shape = random_shape({.most = 128});
    const Layout columns(shape), rows(shape, compact_row_major(shape));
    RC_ASSERT(indices_of(columns) == numbers_to(count_of(columns)));
    RC_ASSERT(sorted(indices_of(rows)) == numbers_to(count_of(rows)));
    const Layout a = random_layout();
    const Layout like = make_layout_like(a);
    RC_ASSERT(sorted(indices_of(like)) == numbers_to(count_of(a)));
    // Where A grows, so does what is like it.
    const Indices of_a = indices_of(a), of_like = indices_of(like);
    for (std::size_t i = 1; i < of_a.size(); ++i)
      RC_ASSERT((of_a[i - 1] < of_a[i]) == (of_like[i - 1] < of_like[i]));
    RC_ASSERT(make_ordered_layout(shape, compact_col_major(shape)).shape() == shape);
  });
}

TEST(LayoutProperty, CastsKeepTheBits) {
  expect_for_all("upcast and downcast", [] {
    const Layout a = random_layout({.sizes = kPowersOfTwo, .zeros = true});
    const std::int64_t count = *rc::gen::element(1, 2, 4, 8);
    const Layout wide = upcast(a, count);
    std::set<std::int64_t> expected;
    for (const std::int64_t index : indices_of(a)) expected.insert(index / count);
    const Indices found = indices_of(wide);
    RC_ASSERT(std::set<std::int64_t>(found.begin(), found.end()) == expected);
    bool adjacent = false;
    for (const FlatMode& mode : flat_modes(a)) adjacent = adjacent || mode.stride.is(1);
    if (!adjacent) return;
    const Layout narrow = downcast(a, count);
    Indices parts;
    for (const std::int64_t index : indices_of(a))
      for (std::int64_t i = 0; i < count; ++i) parts.push_back(index * count + i);
    RC_ASSERT(sorted(indices_of(narrow)) == sorted(parts));
    RC_ASSERT(indices_of(upcast(narrow, count)) == indices_of(a));
    RC_ASSERT(recast(a, 8 * count, 8) == narrow);
    RC_ASSERT(recast(a, 8, 8 * count) == wide);
  });
}

}  // namespace
}  // namespace gpuforge::layout
