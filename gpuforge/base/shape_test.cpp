#include "gpuforge/base/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>
#include <vector>

#include "gpuforge/base/error.h"

namespace gpuforge {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

template <typename F>
std::string refusal(F f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  }
  return "no refusal";
}

// Offsets of all elements in row-major order of the coordinates.
std::vector<std::int64_t> all_offsets(const Shape& shape, const Strides& strides) {
  std::vector<std::int64_t> offsets = {0};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::vector<std::int64_t> next;
    for (std::int64_t offset : offsets) {
      for (std::int64_t k = 0; k < shape[i]; ++k) next.push_back(offset + k * strides[i]);
    }
    offsets = next;
  }
  return offsets;
}

class RandomDims {
 public:
  explicit RandomDims(unsigned seed) : random_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  Dims dims(std::size_t rank, std::int64_t low, std::int64_t high) {
    Dims result = Dims::filled(rank, 0);
    for (std::int64_t& value : result) value = between(low, high);
    return result;
  }
  // A shape with the same number of elements: factors dealt out at random, with some ones.
  Shape regrouped(std::int64_t count) {
    Shape shape;
    while (count > 1 && shape.size() < 6) {
      const std::int64_t divisor = between(1, count);
      if (count % divisor != 0) continue;
      shape.push_back(divisor);
      count /= divisor;
    }
    shape.push_back(count);
    return shape;
  }

 private:
  std::mt19937 random_;
};

TEST(Dims, AreValues) {
  Dims dims = {4, 256};
  EXPECT_EQ(to_string(dims), "[4, 256]");
  EXPECT_EQ(to_string(Dims{}), "[]");
  EXPECT_EQ(to_string(Dims{-1}), "[-1]");
  dims.push_back(7);
  dims.insert(0, 1);
  EXPECT_EQ(dims, (Dims{1, 4, 256, 7}));
  dims.insert(2, 9);
  EXPECT_EQ(dims, (Dims{1, 4, 9, 256, 7}));
  dims.erase(1);
  dims.erase(3);
  EXPECT_EQ(dims, (Dims{1, 9, 256}));
  EXPECT_EQ(dims.back(), 256);
  EXPECT_NE(dims, (Dims{1, 9}));
  EXPECT_TRUE(Dims{}.empty());
  EXPECT_EQ(Dims::filled(3, 5), (Dims{5, 5, 5}));
}

TEST(Dims, HaveALimit) {
  const std::vector<std::int64_t> seventeen(17, 1);
  EXPECT_THAT(refusal([&] { Dims{std::span(seventeen)}; }), HasSubstr("at most 16 dimensions"));
  EXPECT_THAT(refusal([&] { Dims::filled(17, 1); }), HasSubstr("found 17"));
  Dims full = Dims::filled(16, 1);
  EXPECT_THAT(refusal([&] { full.push_back(1); }), HasSubstr("at most 16"));
  EXPECT_THAT(refusal([&] { full.erase(16); }), HasSubstr("cannot erase"));
  EXPECT_THAT(refusal([] { Dims{1}.insert(2, 0); }), HasSubstr("cannot insert"));
  EXPECT_EQ(full.size(), 16u);
}

TEST(ElementCount, EdgesAndOverflow) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({0}), 0);
  EXPECT_EQ(element_count({3, 0, 5}), 0);
  EXPECT_EQ(element_count({1 << 20, 1 << 20}), std::int64_t{1} << 40);
  EXPECT_EQ(element_count({std::numeric_limits<std::int64_t>::max()}),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(element_count({kHuge, kHuge, 0}), 0);
  EXPECT_THAT(refusal([] { element_count({2, -3}); }), HasSubstr("[2, -3]"));
  EXPECT_THAT(refusal([] { element_count({0, -3}); }), HasSubstr("negative"));
  EXPECT_THAT(refusal([] { element_count({kHuge, 2}); }), HasSubstr("too large"));
}

TEST(Contiguity, RowMajorAndItsExceptions) {
  EXPECT_EQ(row_major_strides({2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_EQ(row_major_strides({}), Strides{});
  EXPECT_EQ(row_major_strides({3, 0, 2}), (Strides{2, 2, 1}));
  EXPECT_THAT(refusal([] { row_major_strides({kHuge, 4}); }), HasSubstr("too large"));
  EXPECT_THAT(refusal([] { row_major_strides({-1}); }), HasSubstr("negative"));
  EXPECT_TRUE(is_contiguous({}, {}));
  EXPECT_TRUE(is_contiguous({2, 3}, {3, 1}));
  EXPECT_FALSE(is_contiguous({2, 3}, {1, 2}));
  EXPECT_FALSE(is_contiguous({2, 3}, {4, 1}));
  EXPECT_FALSE(is_contiguous({4}, {-1}));
  EXPECT_TRUE(is_contiguous({1, 3, 1}, {99, 1, -7}));
  EXPECT_TRUE(is_contiguous({0, 3}, {99, 99}));
  EXPECT_THAT(refusal([] { is_contiguous({2}, {1, 1}); }), HasSubstr("strides"));
}

TEST(Contiguity, AgreesWithEnumeration) {
  RandomDims random(1);
  for (int i = 0; i < 5000; ++i) {
    const auto rank = static_cast<std::size_t>(random.between(0, 4));
    const Shape shape = random.dims(rank, 0, 3);
    const Strides strides = i % 2 == 0 ? row_major_strides(shape) : random.dims(rank, -1, 9);
    const std::vector<std::int64_t> offsets = all_offsets(shape, strides);
    bool expected = true;
    for (std::size_t k = 0; k < offsets.size(); ++k) expected &= offsets[k] == static_cast<std::int64_t>(k);
    ASSERT_EQ(is_contiguous(shape, strides), expected) << to_string(shape) << to_string(strides);

    const OffsetRange range = offset_range(shape, strides);
    const auto [low, high] = std::minmax_element(offsets.begin(), offsets.end());
    ASSERT_EQ(range.lowest, offsets.empty() ? 0 : *low);
    ASSERT_EQ(range.highest, offsets.empty() ? -1 : *high);
  }
}

TEST(OffsetRange, RefusesWhatDoesNotFit) {
  EXPECT_THAT(refusal([] { offset_range({3}, {kHuge}); }), HasSubstr("reaches past"));
  EXPECT_THAT(refusal([] { offset_range({2, 2, 2}, {kHuge, kHuge, kHuge}); }), HasSubstr("reaches past"));
  EXPECT_EQ(offset_range({0, 3}, {kHuge, kHuge}).highest, -1);
  EXPECT_EQ(offset_range({2}, {std::numeric_limits<std::int64_t>::min()}).lowest,
            std::numeric_limits<std::int64_t>::min());
}

TEST(Overlap, ExactAgainstEnumeration) {
  RandomDims random(2);
  int overlapping = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto rank = static_cast<std::size_t>(random.between(0, 5));
    const Shape shape = random.dims(rank, i % 10 == 0 ? 0 : 1, 4);
    const Strides strides = random.dims(rank, -20, 20);
    const std::vector<std::int64_t> offsets = all_offsets(shape, strides);
    const bool expected = std::set<std::int64_t>(offsets.begin(), offsets.end()).size() != offsets.size();
    ASSERT_EQ(may_overlap_itself(shape, strides), expected) << to_string(shape) << to_string(strides);
    overlapping += expected ? 1 : 0;
  }
  EXPECT_GT(overlapping, 1000);
  EXPECT_LT(overlapping, 19000);
}

TEST(Overlap, LargeOrdinaryViewsAreNotSuspected) {
  EXPECT_FALSE(may_overlap_itself({1 << 20, 1 << 20}, {1, 1 << 20}));         // transposed
  EXPECT_FALSE(may_overlap_itself({1000, 1000, 1000}, {1000, -1, 1000000}));  // permuted, mirrored
  EXPECT_FALSE(may_overlap_itself({500, 333}, {2 * 1000, 3}));                // sliced with steps
  EXPECT_FALSE(may_overlap_itself({std::numeric_limits<std::int64_t>::max()}, {1}));
  EXPECT_FALSE(may_overlap_itself({100000, 2}, {2, 100001}));  // interleaved, odd and even
  EXPECT_TRUE(may_overlap_itself({100000, 2}, {2, 100000}));
  EXPECT_TRUE(may_overlap_itself({1 << 20, 5}, {1, 1}));  // sliding window
  EXPECT_TRUE(may_overlap_itself({3, 1000000}, {0, 1}));  // broadcast
  EXPECT_TRUE(may_overlap_itself({300, 300, 300}, {1, 2, 3}));
  EXPECT_FALSE(may_overlap_itself({3, 0}, {0, 0}));
  EXPECT_FALSE(may_overlap_itself({1, 1}, {0, 0}));
  EXPECT_TRUE(may_overlap_itself({2, 2, 2}, {kHuge, kHuge, std::numeric_limits<std::int64_t>::min()}));
}

TEST(NormalizeAxis, CountsFromBothEnds) {
  EXPECT_EQ(normalize_axis(0, 3, "sum"), 0u);
  EXPECT_EQ(normalize_axis(2, 3, "sum"), 2u);
  EXPECT_EQ(normalize_axis(-1, 3, "sum"), 2u);
  EXPECT_EQ(normalize_axis(-3, 3, "sum"), 0u);
  EXPECT_EQ(refusal([] { normalize_axis(3, 3, "sum"); }), "sum: axis 3 is out of range for 3 dimensions");
  EXPECT_THAT(refusal([] { normalize_axis(-4, 3, "sum"); }), HasSubstr("axis -4"));
  EXPECT_THAT(refusal([] { normalize_axis(0, 0, "sum"); }), HasSubstr("0 dimensions"));
  EXPECT_THAT(refusal([] { normalize_axis(std::numeric_limits<std::int64_t>::min(), 2, "sum"); }),
              HasSubstr("axis"));
}

TEST(Broadcast, Shapes) {
  EXPECT_EQ(broadcast_shapes({8, 1, 6, 1}, {7, 1, 5}), (Shape{8, 7, 6, 5}));
  EXPECT_EQ(broadcast_shapes({}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast_shapes({1}, {0}), (Shape{0}));
  EXPECT_EQ(broadcast_shapes({0, 1}, {1, 5}), (Shape{0, 5}));
  const std::string message = refusal([] { broadcast_shapes({2, 3}, {4}); });
  EXPECT_THAT(message, HasSubstr("[2, 3]"));
  EXPECT_THAT(message, HasSubstr("[4]"));
  EXPECT_NE(refusal([] { broadcast_shapes({0}, {2}); }), "no refusal");
  EXPECT_NE(refusal([] { broadcast_shapes({kHuge, 1}, {1, kHuge}); }), "no refusal");
}

TEST(Broadcast, StridesShowTheSameElements) {
  EXPECT_EQ(broadcast_strides({3, 1}, {1, 1}, {2, 3, 4}), (Strides{0, 1, 0}));
  EXPECT_EQ(broadcast_strides({}, {}, {2, 2}), (Strides{0, 0}));
  EXPECT_EQ(broadcast_strides({2, 1}, {-5, 7}, {2, 1}), (Strides{-5, 7}));
  EXPECT_NE(refusal([] { broadcast_strides({2, 3}, {3, 1}, {3}); }), "no refusal");
  EXPECT_NE(refusal([] { broadcast_strides({2}, {1}, {3}); }), "no refusal");
  EXPECT_NE(refusal([] { broadcast_strides({1}, {1}, {-2}); }), "no refusal");
}

TEST(Reshape, ResolvesOneUnknown) {
  EXPECT_EQ(resolve_reshape({4, 6}, {-1, 8}), (Shape{3, 8}));
  EXPECT_EQ(resolve_reshape({4, 6}, {24}), (Shape{24}));
  EXPECT_EQ(resolve_reshape({}, {-1}), (Shape{1}));
  EXPECT_EQ(resolve_reshape({1, 1}, {}), Shape{});
  EXPECT_EQ(resolve_reshape({0, 4}, {-1, 2}), (Shape{0, 2}));
  EXPECT_THAT(refusal([] { resolve_reshape({4}, {-1, -1}); }), HasSubstr("only one size may be -1"));
  EXPECT_THAT(refusal([] { resolve_reshape({4, 6}, {5, -1}); }), HasSubstr("24 elements"));
  EXPECT_THAT(refusal([] { resolve_reshape({4, 6}, {5, 5}); }), HasSubstr("has 25"));
  EXPECT_THAT(refusal([] { resolve_reshape({0}, {0, -1}); }), HasSubstr("no single answer"));
  EXPECT_THAT(refusal([] { resolve_reshape({4}, {-2, -2}); }), HasSubstr("negative"));
  EXPECT_NE(refusal([] { resolve_reshape({4}, {kHuge, kHuge, -1}); }), "no refusal");
}

TEST(Reshape, KnownViews) {
  EXPECT_EQ(reshape_strides({2, 3}, {3, 1}, {6}), (Strides{1}));
  EXPECT_EQ(reshape_strides({2, 3}, {1, 2}, {6}), std::nullopt);
  EXPECT_EQ(reshape_strides({2, 3}, {1, 2}, {2, 1, 3, 1}), (Strides{1, 6, 2, 1}));
  EXPECT_EQ(reshape_strides({6}, {-2}, {2, 3}), (Strides{-6, -2}));
  EXPECT_EQ(reshape_strides({4, 6}, {100, 2}, {2, 2, 3, 2}), (Strides{200, 100, 4, 2}));
  EXPECT_EQ(reshape_strides({0, 3}, {1, 1}, {3, 0}), row_major_strides({3, 0}));
  EXPECT_NE(refusal([] { reshape_strides({4}, {1}, {5}); }), "no refusal");
}

// A reshaped view exists exactly when strides read off the unit coordinates reproduce every offset.
TEST(Reshape, ExactAgainstEnumeration) {
  RandomDims random(3);
  int views = 0;
  int copies = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto rank = static_cast<std::size_t>(random.between(0, 4));
    const Shape from = random.dims(rank, 1, 4);
    Strides strides = row_major_strides(from);
    if (i % 3 == 0) strides = random.dims(rank, -3, 12);
    if (i % 3 == 1 && rank > 0)
      strides[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(rank) - 1))] *= 2;
    const Shape to = random.regrouped(element_count(from));
    const std::vector<std::int64_t> offsets = all_offsets(from, strides);
    Strides needed = row_major_strides(to);
    for (std::size_t k = 0; k < to.size(); ++k) {
      needed[k] = to[k] == 1 ? 0 : offsets[static_cast<std::size_t>(needed[k])];
    }
    const bool possible = all_offsets(to, needed) == offsets;
    const std::optional<Strides> found = reshape_strides(from, strides, to);
    ASSERT_EQ(found.has_value(), possible) << to_string(from) << to_string(strides) << to_string(to);
    if (found) {
      ASSERT_EQ(all_offsets(to, *found), offsets);
    }
    (possible ? views : copies) += 1;
  }
  EXPECT_GT(views, 2000);
  EXPECT_GT(copies, 2000);
}

}  // namespace
}  // namespace gpuforge
