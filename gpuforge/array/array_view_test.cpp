#include <limits>

#include "gpuforge/array/context_for_tests.h"

namespace gpuforge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class ArrayViewTest : public ArrayTest {};
INSTANTIATE_TEST_SUITE_P(Cpu, ArrayViewTest, testing::Values("cpu"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Sim, ArrayViewTest, testing::Values("sim"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Gpu, ArrayViewTest, testing::Values("cuda:0"), device_case_name);

using Ints = std::vector<std::int32_t>;
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// Every start, stop and step around a short axis, against the definition: walk from the clamped start while
// before stop.
TEST_P(ArrayViewTest, SlicesFollowPythonsRule) {
  for (const std::int64_t extent : {0, 1, 2, 5}) {
    const Array array = counting({extent});
    std::vector<std::optional<std::int64_t>> ends = {std::nullopt, kMin, kMax};
    for (std::int64_t i = -extent - 2; i <= extent + 2; ++i) ends.emplace_back(i);
    for (const std::int64_t step : {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{-1},
                                    std::int64_t{-2}, std::int64_t{7}, std::int64_t{-7}, kMax, kMin}) {
      for (const auto& start : ends) {
        for (const auto& stop : ends) {
          const auto clamped = [&](std::int64_t at) {
            if (at < 0) at += extent;
            return step > 0 ? std::clamp<std::int64_t>(at, 0, extent)
                            : std::clamp<std::int64_t>(at, -1, extent - 1);
          };
          const std::int64_t first = start ? clamped(*start) : step > 0 ? 0 : extent - 1;
          const std::int64_t last = stop ? clamped(*stop) : step > 0 ? extent : -1;
          Ints expected;
          for (std::int64_t i = first; step > 0 ? i < last : i > last;) {
            expected.push_back(static_cast<std::int32_t>(i));
            if (__builtin_add_overflow(i, step, &i)) break;
          }
          const Array view = array.slice(0, {start, stop, step});
          ASSERT_EQ(view.shape(), Shape({static_cast<std::int64_t>(expected.size())}));
          if (extent == 5 || expected.size() < 2) {
            ASSERT_EQ(ints(view), expected) << extent << " [" << (start ? *start : 99) << ":"
                                            << (stop ? *stop : 99) << ":" << step << "]";
          }
          ASSERT_TRUE(view.shares_storage_with(array));
        }
      }
    }
  }
}

TEST_P(ArrayViewTest, SlicesOfSlicesReachTheRightElements) {
  const Array array = counting({4, 5});
  const Array view = array.slice(0, {{}, {}, -1}).slice(1, {1, {}, 2});
  EXPECT_EQ(view.shape(), Shape({4, 2}));
  EXPECT_EQ(view.strides(), Strides({-5, 2}));
  EXPECT_EQ(view.address(), array.address() + 16 * 4);
  EXPECT_THAT(ints(view), ElementsAre(16, 18, 11, 13, 6, 8, 1, 3));
  EXPECT_THAT(ints(view.slice(1, {{}, {}, -1}).slice(0, {1, 3, 1})), ElementsAre(13, 11, 8, 6));
  EXPECT_THAT(ints(array.slice(-1, {-2, {}, 1}).slice(0, {0, 1, 1})), ElementsAre(3, 4));
}

TEST_P(ArrayViewTest, EmptySlicesHaveNoAddress) {
  const Array view = counting({4, 5}).slice(0, {4, 4, 1});
  EXPECT_EQ(view.shape(), Shape({0, 5}));
  EXPECT_EQ(view.address(), 0u);
  EXPECT_EQ(view.size(), 0);
  EXPECT_EQ(view.bytes(), 0u);
  EXPECT_TRUE(ints(view).empty());
  EXPECT_TRUE(ints(view.transpose().reshape({5, 0, 3})).empty());
}

TEST_P(ArrayViewTest, SlicesRefuseZeroStepsAndUnknownAxes) {
  const Array array = counting({4, 5});
  EXPECT_THAT(error_of([&] {
                array.slice(1, {0, 1, 0});
              }),
              StartsWith("invalid_argument: slice: a step other than zero"));
  EXPECT_THAT(error_of([&] { array.slice(2, {}); }), StartsWith("invalid_argument: slice: axis 2"));
  EXPECT_THAT(error_of([&] { array.slice(-3, {}); }), StartsWith("invalid_argument: slice: axis -3"));
}

TEST_P(ArrayViewTest, IndexDropsTheAxis) {
  const Array array = counting({2, 3, 4});
  EXPECT_EQ(array.index(1, 2).shape(), Shape({2, 4}));
  EXPECT_THAT(ints(array.index(1, 2)), ElementsAre(8, 9, 10, 11, 20, 21, 22, 23));
  EXPECT_THAT(ints(array.index(0, -1).index(1, -4)), ElementsAre(12, 16, 20));
  const Array one = array.index(0, 1).index(0, 2).index(0, 3);
  EXPECT_EQ(one.rank(), 0u);
  EXPECT_EQ(one.item(*stream_), 23);
  EXPECT_THAT(error_of([&] { array.index(1, 3); }),
              StartsWith("invalid_argument: index: 3 is not in axis 1 of extent 3"));
  EXPECT_THAT(error_of([&] { array.index(-1, -5); }),
              StartsWith("invalid_argument: index: -5 is not in axis 2 of extent 4"));
  EXPECT_THAT(error_of([&] { one.index(0, 0); }), StartsWith("invalid_argument: index: axis 0"));
}

TEST_P(ArrayViewTest, TransposeMovesNoData) {
  const Array array = counting({2, 3, 4});
  const Array turned = array.transpose();
  EXPECT_EQ(turned.shape(), Shape({4, 3, 2}));
  EXPECT_EQ(turned.strides(), Strides({1, 4, 12}));
  EXPECT_EQ(turned.address(), array.address());
  EXPECT_FALSE(turned.contiguous());
  EXPECT_THAT(ints(turned.index(0, 1)), ElementsAre(1, 13, 5, 17, 9, 21));
  const Array mixed = array.transpose({1, -1, 0});
  EXPECT_EQ(mixed.shape(), Shape({3, 4, 2}));
  EXPECT_THAT(ints(mixed.index(0, 2)), ElementsAre(8, 20, 9, 21, 10, 22, 11, 23));
  EXPECT_EQ(array.index(0, 0).index(0, 0).index(0, 0).transpose().rank(), 0u);
  EXPECT_THAT(error_of([&] {
                array.transpose({0, 1});
              }),
              HasSubstr("has 3 axes, the permutation [0, 1] names 2"));
  EXPECT_THAT(error_of([&] { array.transpose({0, 1, -2}); }), HasSubstr("names axis 1 twice"));
  EXPECT_THAT(error_of([&] { array.transpose({0, 1, 3}); }), HasSubstr("transpose: axis 3"));
}

TEST_P(ArrayViewTest, ReshapeIsAViewOrARefusal) {
  const Array array = counting({4, 6});
  for (const Shape& shape : {Shape{24}, Shape{2, 2, 6}, Shape{4, -1}, Shape{-1, 1, 3}, Shape{1, 24, 1}}) {
    const Array view = array.reshape(shape);
    EXPECT_EQ(view.address(), array.address());
    EXPECT_EQ(ints(view), ints(array)) << to_string(shape);
  }
  EXPECT_EQ(array.reshape({-1, 3}).shape(), Shape({8, 3}));
  // Rows with gaps can still be split, not joined.
  const Array gaps = array.slice(1, {0, 4, 1});
  EXPECT_THAT(ints(gaps.reshape({2, 2, 2, 2})),
              ElementsAre(0, 1, 2, 3, 6, 7, 8, 9, 12, 13, 14, 15, 18, 19, 20, 21));
  EXPECT_THAT(error_of([&] { gaps.reshape({16}); }), HasSubstr("without a copy; call to_contiguous first"));
  EXPECT_THAT(error_of([&] { array.transpose().reshape({24}); }), HasSubstr("reshape"));
  EXPECT_EQ(ints(gaps.to_contiguous(*stream_).reshape({16})).size(), 16u);
  EXPECT_THAT(error_of([&] { array.reshape({5, 5}); }), StartsWith("invalid_argument: "));
  EXPECT_THAT(error_of([&] { array.reshape({-1, -1}); }), StartsWith("invalid_argument: "));
  EXPECT_THAT(error_of([&] { array.reshape({-1, 7}); }), StartsWith("invalid_argument: "));
  // Reversed elements keep their order.
  EXPECT_THAT(ints(counting({4}).slice(0, {{}, {}, -1}).reshape({2, 2})), ElementsAre(3, 2, 1, 0));
}

TEST_P(ArrayViewTest, BroadcastRepeatsWithoutCopies) {
  const Array row = counting({3});
  const Array table = row.broadcast_to({2, 3});
  EXPECT_EQ(table.strides(), Strides({0, 1}));
  EXPECT_EQ(table.address(), row.address());
  EXPECT_THAT(ints(table), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(ints(counting({3, 1}).broadcast_to({3, 2})), ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(ints(counting({}).broadcast_to({2, 2})), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(counting({1, 3}).broadcast_to({0, 3}).size(), 0);
  EXPECT_THAT(error_of([&] { row.broadcast_to({2, 4}); }), StartsWith("invalid_argument: "));
  EXPECT_THAT(error_of([&] { counting({2, 3}).broadcast_to({3}); }), StartsWith("invalid_argument: "));
  // Far more elements than memory: reading a piece is fine.
  const Array huge = counting({}).broadcast_to({std::int64_t{1} << 40, 1 << 20});
  EXPECT_EQ(huge.size(), std::int64_t{1} << 60);
  EXPECT_THAT(ints(huge.slice(0, {-1, {}, 1}).slice(1, {5, 8, 1})), ElementsAre(0, 0, 0));
  EXPECT_THAT(error_of([&] {
                row.broadcast_to({std::int64_t{1} << 62, 3});
              }),
              StartsWith("invalid_argument: "));
}

TEST_P(ArrayViewTest, SixteenAxes) {
  const Array array = counting(Shape::filled(kMaxRank, 2));
  Dims rotation;
  for (std::size_t i = 0; i < kMaxRank; ++i)
    rotation.push_back(static_cast<std::int64_t>((i + 5) % kMaxRank));
  const Ints turned = ints(array.transpose(rotation));
  ASSERT_EQ(turned.size(), 65536u);
  for (std::size_t i = 0; i < turned.size(); ++i) {
    // Axis j of the view is axis (j + 5) mod 16 of the array: a rotation of the index's bits.
    const std::size_t expected = (i >> 5 | i << 11) & 0xffff;
    ASSERT_EQ(turned[i], static_cast<std::int32_t>(expected)) << i;
  }
  EXPECT_THAT(error_of([&] { array.reshape(Shape::filled(16, 2)).broadcast_to(Shape::filled(17, 2)); }),
              StartsWith("invalid_argument: "));
}

TEST_P(ArrayViewTest, ViewsKeepTheStorageAlive) {
  std::optional<Array> array = counting({1000});
  const Array view = array->slice(0, {10, 20, 3});
  array.reset();
  const Array other = full(context_, {1000}, 7, DType::i32, *stream_);
  EXPECT_THAT(ints(view), ElementsAre(10, 13, 16, 19));
  EXPECT_FALSE(view.shares_storage_with(other));
}

}  // namespace
}  // namespace gpuforge
