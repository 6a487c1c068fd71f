#include <cmath>

#include "gpuforge/array/context_for_tests.h"

namespace gpuforge {
namespace {

using testing::HasSubstr;

class ArrayCompareTest : public ArrayTest {
 protected:
  bool close(const Array& a, const Array& b, double rtol, double atol, bool equal_nan = false) {
    return allclose(a, b, rtol, atol, equal_nan, *stream_);
  }
};
INSTANTIATE_TEST_SUITE_P(Cpu, ArrayCompareTest, testing::Values("cpu"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Sim, ArrayCompareTest, testing::Values("sim"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Gpu, ArrayCompareTest, testing::Values("cuda:0"), device_case_name);

TEST_P(ArrayCompareTest, EqualComparesValuesNotBits) {
  const Array a = counting({2, 3});
  EXPECT_TRUE(equal(a, a, *stream_));
  EXPECT_TRUE(equal(a, a.astype(DType::f16, *stream_), *stream_));
  EXPECT_TRUE(equal(a.transpose(), a.transpose().copy(*stream_), *stream_));
  EXPECT_FALSE(equal(a, a.reshape({3, 2}), *stream_));
  EXPECT_FALSE(equal(a, a.reshape({6}), *stream_));
  EXPECT_FALSE(equal(a, a.slice(1, {{}, {}, -1}), *stream_));
  EXPECT_TRUE(equal(from<double>({0.0}, {1}), from<double>({-0.0}, {1}), *stream_));
  EXPECT_FALSE(equal(from<float>({0.1f}, {1}), from<double>({0.1}, {1}), *stream_));
  const Array nan = from<float>({NAN}, {1});
  EXPECT_FALSE(equal(nan, nan, *stream_));
  const Array infinite = from<float>({INFINITY}, {1});
  EXPECT_TRUE(equal(infinite, infinite.astype(DType::f64, *stream_), *stream_));
}

TEST_P(ArrayCompareTest, EqualIsExactWhereDoublesAreNot) {
  const Array whole = from<std::int64_t>({(std::int64_t{1} << 53) + 1}, {1});
  EXPECT_FALSE(equal(whole, from<double>({0x1p53}, {1}), *stream_));
  EXPECT_FALSE(equal(whole, from<std::int64_t>({std::int64_t{1} << 53}, {1}), *stream_));
  EXPECT_FALSE(equal(from<std::int64_t>({INT64_MAX}, {1}), from<double>({0x1p63}, {1}), *stream_));
  EXPECT_TRUE(equal(from<double>({-0x1p63}, {1}), from<std::int64_t>({INT64_MIN}, {1}), *stream_));
  EXPECT_FALSE(equal(from<std::int64_t>({0}, {1}), from<double>({NAN}, {1}), *stream_));
  EXPECT_FALSE(equal(from<std::int64_t>({1}, {1}), from<double>({1.5}, {1}), *stream_));
}

TEST_P(ArrayCompareTest, EmptyAndScalarArrays) {
  EXPECT_TRUE(equal(counting({0, 3}), counting({0, 3}), *stream_));
  EXPECT_FALSE(equal(counting({0, 3}), counting({3, 0}), *stream_));
  EXPECT_TRUE(equal(counting({}), zeros(context_, {}, DType::f8e4m3, *stream_), *stream_));
  EXPECT_TRUE(close(counting({0}), counting({0}), 0, 0));
}

// More elements than one piece holds, in shapes that are cut along different axes; one difference at every
// corner.
TEST_P(ArrayCompareTest, PiecesCoverEverything) {
  for (const Shape& shape : {Shape{600000}, Shape{1, 1, 700, 1, 1000}, Shape{3, 300000}, Shape{300000, 3}}) {
    const Array a = counting(shape);
    EXPECT_TRUE(equal(a, a.copy(*stream_), *stream_));
    EXPECT_TRUE(close(a, a.copy(*stream_), 0, 0));
    const std::int64_t size = a.size();
    for (const std::int64_t at :
         {std::int64_t{0}, size / 2, (std::int64_t{1} << 18) - 1, std::int64_t{1} << 18, size - 1}) {
      const Array b = a.copy(*stream_);
      b.reshape({size}).slice(0, {at, at + 1, 1}).fill(-1, *stream_);
      EXPECT_FALSE(equal(a, b, *stream_)) << to_string(shape) << " " << at;
      EXPECT_FALSE(close(a, b, 0, 0.5)) << to_string(shape) << " " << at;
    }
  }
}

TEST_P(ArrayCompareTest, AllcloseFollowsNumPy) {
  const auto one = [&](double a) { return from<double>({a}, {1}); };
  EXPECT_TRUE(close(one(1.0), one(1.00001), 1e-5, 1e-8));
  EXPECT_FALSE(close(one(1.0), one(1.0001), 1e-5, 1e-8));
  EXPECT_TRUE(close(one(0.0), one(1e-9), 0, 1e-8));
  // The second one's magnitude counts, so the order matters.
  EXPECT_TRUE(close(one(9), one(10), 0.1, 0));
  EXPECT_FALSE(close(one(10), one(9), 0.1, 0));
  EXPECT_FALSE(close(one(NAN), one(NAN), 1, 1));
  EXPECT_TRUE(close(one(NAN), one(NAN), 0, 0, true));
  EXPECT_FALSE(close(one(NAN), one(1), 1, 1, true));
  EXPECT_TRUE(close(one(INFINITY), one(INFINITY), 0, 0));
  EXPECT_FALSE(close(one(INFINITY), one(-INFINITY), 1, 1));
  EXPECT_FALSE(close(one(1), one(INFINITY), 1, 1));
  EXPECT_FALSE(close(one(INFINITY), one(1), 1, 1));
  EXPECT_FALSE(close(counting({2}), counting({3}), 1, 1));
  EXPECT_TRUE(close(from<Half>({Half::from(0.1)}, {1}), one(0.1), 1e-3, 0));
  EXPECT_THAT(error_of([&] { close(one(1), one(1), -1, 0); }),
              HasSubstr("allclose: tolerances of at least zero"));
  EXPECT_THAT(error_of([&] { close(one(1), one(1), 0, NAN); }), HasSubstr("allclose: tolerances"));
}

TEST_P(ArrayCompareTest, DevicesMeetOnlyThroughTheHost) {
  const auto elsewhere = Context::make(device::open_device("cpu", {}));
  const auto stream = elsewhere->make_stream();
  const Array other = zeros(elsewhere, {1}, DType::i32, *stream);
  EXPECT_THAT(error_of([&] { equal(counting({1}), other, *stream_); }), HasSubstr("to_host and from_host"));
  EXPECT_THAT(error_of([&] { allclose(other, other, 0, 0, false, *stream_); }),
              HasSubstr("to_host and from_host"));
}

}  // namespace
}  // namespace gpuforge
