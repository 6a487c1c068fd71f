#include "gpuforge/array/shaping.h"

#include "gpuforge/array/context_for_tests.h"

namespace gpuforge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Axes = std::vector<std::int64_t>;

class Shaping : public ArrayTest {};
INSTANTIATE_TEST_SUITE_P(Cpu, Shaping, testing::Values("cpu"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Sim, Shaping, testing::Values("sim"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Gpu, Shaping, testing::Values("cuda:0"), device_case_name);

TEST_P(Shaping, AxesOfOneComeAndGo) {
  const Array x = counting({1, 3, 1});
  EXPECT_EQ(squeeze(x).shape(), Shape{3});
  EXPECT_EQ(squeeze(x, Axes{-1}).shape(), (Shape{1, 3}));
  EXPECT_EQ(error_of([&] { squeeze(x, Axes{1}); }),
            "invalid_argument: squeeze: axis 1 has 3 elements, where one was expected");
  EXPECT_EQ(expand_dims(counting({3}), Axes{0, -1}).shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(expand_dims(counting({3}), Axes{1}).shape(), (Shape{3, 1}));
  EXPECT_THAT(error_of([&] { expand_dims(x, Axes{0, 0}); }), HasSubstr("named twice"));
  EXPECT_THAT(error_of([&] { expand_dims(x, Axes(14, 0)); }), HasSubstr("more than 16"));
  EXPECT_EQ(swap_axes(counting({2, 3, 4}), 0, -1).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(move_axis(counting({2, 3, 4}), 0, -1).shape(), (Shape{3, 4, 2}));
}

TEST_P(Shaping, OneAxis) {
  const Array x = counting({2, 3});
  EXPECT_TRUE(ravel(x, *stream_).shares_storage_with(x));
  EXPECT_FALSE(flatten(x, *stream_).shares_storage_with(x));
  EXPECT_THAT(ints(ravel(x.transpose(), *stream_)), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_EQ(ravel(counting({0, 3}), *stream_).shape(), Shape{0});
}

TEST_P(Shaping, SeveralAsOne) {
  const Array x = counting({2, 2});
  EXPECT_THAT(ints(concat(std::vector{x, x.slice(0, {0, 1, 1})}, 0, *stream_)),
              ElementsAre(0, 1, 2, 3, 0, 1));
  EXPECT_THAT(ints(concat(std::vector{x, x.transpose()}, -1, *stream_)), ElementsAre(0, 1, 0, 2, 2, 3, 1, 3));
  EXPECT_EQ(concat(std::vector{x, ones(context_, {2, 0}, DType::f32, *stream_)}, 1, *stream_).dtype(),
            DType::f64);
  const Array stacked = stack(std::vector{x, x, x}, 1, *stream_);
  EXPECT_EQ(stacked.shape(), (Shape{2, 3, 2}));
  EXPECT_THAT(ints(stacked.index(1, 2)), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(stack(std::vector{counting({}), counting({})}, 0, *stream_).shape(), Shape{2});
  EXPECT_EQ(
      error_of([&] {
        concat(std::vector{x, counting({3, 3})}, 0, *stream_);
      }),
      "invalid_argument: concat: array 1 of shape [3, 3] does not fit the first, of shape [2, 2], along "
      "axis 0");
  EXPECT_THAT(error_of([&] { concat(std::span<const Array>{}, 0, *stream_); }), HasSubstr("found none"));
  EXPECT_THAT(error_of([&] { stack(std::vector{x, counting({2})}, 0, *stream_); }), HasSubstr("array 1"));
}

}  // namespace
}  // namespace gpuforge
