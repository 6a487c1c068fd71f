#include "gpuforge/array/strided.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

namespace gpuforge {
namespace {

TEST(StridedWalk, DenseViewsBecomeOneRun) {
  const StridedWalk walk = make_walk({2, 3, 4}, {12, 4, 1}, {12, 4, 1});
  EXPECT_EQ(walk.extents, Shape({24}));
  EXPECT_TRUE(walk.dense());
  EXPECT_TRUE(walk.same());
  EXPECT_TRUE(make_walk({}, {}, {}).dense());
  EXPECT_TRUE(make_walk({1, 1}, {7, 9}, {0, -3}).dense());
  // Both permuted the same way: the order of the walk is free.
  EXPECT_TRUE(make_walk({4, 3, 2}, {1, 4, 12}, {1, 4, 12}).dense());
  // Both reversed.
  const StridedWalk reversed = make_walk({5, 2}, {-2, -1}, {-2, -1});
  EXPECT_TRUE(reversed.dense());
  EXPECT_EQ(reversed.to_start, -9);
  EXPECT_EQ(reversed.from_start, -9);
}

TEST(StridedWalk, KeepsWhatCannotMerge) {
  const StridedWalk turned = make_walk({3, 4}, {4, 1}, {1, 3});
  EXPECT_EQ(turned.extents, Shape({3, 4}));
  EXPECT_EQ(turned.to_strides, Strides({4, 1}));
  EXPECT_EQ(turned.from_strides, Strides({1, 3}));
  EXPECT_FALSE(turned.dense());
  // Rows with gaps in the source: two loops, whatever the rank.
  EXPECT_EQ(make_walk({2, 3, 4, 5}, {60, 20, 5, 1}, {120, 40, 10, 1}).extents, Shape({24, 5}));
  // A broadcast axis outside.
  EXPECT_EQ(make_walk({7, 2, 3}, {6, 3, 1}, {0, 3, 1}).extents, Shape({7, 6}));
  // A reversed source alone stays one loop with a negative stride.
  const StridedWalk backwards = make_walk({6}, {1}, {-1});
  EXPECT_EQ(backwards.from_strides, Strides({-1}));
  EXPECT_FALSE(backwards.dense());
  EXPECT_FALSE(backwards.same());
}

TEST(StridedWalk, RankSixteen) {
  Shape shape = Shape::filled(kMaxRank, 2);
  const Strides dense = row_major_strides(shape);
  Strides reversed;
  for (std::size_t i = kMaxRank; i > 0; --i) reversed.push_back(dense[i - 1]);
  EXPECT_EQ(make_walk(shape, dense, reversed).extents.size(), kMaxRank);
  EXPECT_TRUE(make_walk(shape, dense, dense).dense());
}

TEST(CopyOnHost, ReachesEveryPairOnce) {
  std::vector<std::int16_t> from(3 * 70 * 130);
  std::iota(from.begin(), from.end(), std::int16_t{0});
  // [3, 70, 130] read with the last two axes swapped, and every second row of the destination.
  std::vector<std::int32_t> to(3 * 130 * 140, -1);
  copy_on_host(reinterpret_cast<std::byte*>(to.data()), DType::i32,
               reinterpret_cast<const std::byte*>(from.data()), DType::i16,
               make_walk({3, 130, 70}, {130 * 140, 140, 2}, {70 * 130, 1, 130}));
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t block = i / (130 * 140);
    const std::size_t row = i / 140 % 130;
    const std::size_t column = i % 140;
    const std::int32_t expected = column % 2 == 1 ? -1 : from[block * 70 * 130 + column / 2 * 130 + row];
    ASSERT_EQ(to[i], expected) << i;
  }
}

TEST(FillOnHost, TouchesTheDestinationAlone) {
  std::vector<std::int64_t> to(20, 0);
  const std::int64_t value = 7;
  fill_on_host(reinterpret_cast<std::byte*>(to.data() + 18), reinterpret_cast<const std::byte*>(&value), 8,
               make_walk({3, 2}, {-6, -2}, {0, 0}));
  for (std::size_t i = 0; i < to.size(); ++i) {
    const bool filled = i == 18 || i == 16 || i == 12 || i == 10 || i == 6 || i == 4;
    EXPECT_EQ(to[i], filled ? 7 : 0) << i;
  }
}

}  // namespace
}  // namespace gpuforge
