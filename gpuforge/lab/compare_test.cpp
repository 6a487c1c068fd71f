#include "gpuforge/lab/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gpuforge/base/convert.h"
#include "gpuforge/lab/host_bytes.h"

namespace gpuforge::lab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<std::byte> stored(const std::vector<double>& values, DType dtype) {
  std::vector<std::byte> bytes(values.size() * element_bytes(dtype));
  convert_elements(bytes.data(), dtype, values.data(), DType::f64, values.size());
  return bytes;
}

Comparison compared(const std::vector<double>& got, Expected expected, DType dtype, Tolerance tolerance) {
  const Comparison result = compare(expected, stored(got, dtype), dtype, tolerance);
  std::size_t wrong = 0;
  for (const bool one : wrong_elements(expected, stored(got, dtype), dtype, tolerance)) wrong += one;
  EXPECT_EQ(wrong, result.wrong);
  return result;
}

bool passes(double got, double want, Tolerance tolerance = {}, DType dtype = DType::f16) {
  return compared({got}, {{want}, {}}, dtype, tolerance).good();
}

TEST(LabCompare, AnEmptyOutputIsGood) {
  const Comparison result = compared({}, {}, DType::f32, {});
  EXPECT_TRUE(result.good());
  EXPECT_EQ(result.elements, 0u);
}

TEST(LabCompare, ZeroToleranceIsTheRoundedValue) {
  EXPECT_TRUE(passes(1.0 / 3, 1.0 / 3));  // as f16 rounds it
  EXPECT_FALSE(passes(1.0 / 3 + 0x1p-11, 1.0 / 3));
  EXPECT_TRUE(passes(0.0, -0.0));
  EXPECT_FALSE(passes(1, 0));
}

TEST(LabCompare, TheErrorIsJudgedByTheMagnitude) {
  const Tolerance tolerance{.relative = 0.01, .absolute = 0.001};
  EXPECT_TRUE(passes(100.5, 100, tolerance));
  EXPECT_FALSE(passes(102, 100, tolerance));
  EXPECT_TRUE(passes(0.0005, 0, tolerance));
  EXPECT_FALSE(passes(0.5, 0, tolerance));
  // A sum of terms as large as 100 that cancel.
  EXPECT_TRUE(compared({0.5}, {{0}, {100}}, DType::f16, tolerance).good());
  EXPECT_FALSE(compared({2}, {{0}, {100}}, DType::f16, tolerance).good());
}

// A sum of 4096 f16 numbers that cancel: its output is rounded at its own size, not at that of the terms, so
// that sums kept in f16 are found.
TEST(LabCompare, RoundingIsOfTheValueItself) {
  const Tolerance tolerance{.relative = 1e-6, .norm = 1e-6, .rounding = 0x1p-11};
  EXPECT_TRUE(compared({64.03}, {{64}, {3000}}, DType::f16, tolerance).good());
  EXPECT_FALSE(compared({65}, {{64}, {3000}}, DType::f16, tolerance).good());
  const Comparison whole = compared({64, 64}, {{64, 64}, {3000, 3000}}, DType::f16, tolerance);
  EXPECT_NEAR(whole.norm_allowed, 1e-6 + 0x1p-11 * 64 / 3000, 1e-12);
}

TEST(LabCompare, NanMustBeNanAndInfinityTheSame) {
  const Tolerance wide{.relative = 0.5, .absolute = 1e3};
  EXPECT_TRUE(passes(kNan, kNan, wide));
  EXPECT_FALSE(passes(kNan, 1, wide));
  EXPECT_FALSE(passes(1, kNan, wide));
  EXPECT_TRUE(passes(kInfinity, kInfinity, wide));
  EXPECT_FALSE(passes(-kInfinity, kInfinity, wide));
  EXPECT_FALSE(passes(65504, kInfinity, wide));
  EXPECT_FALSE(passes(kInfinity, 1, wide));
  EXPECT_FALSE(passes(kNan, kInfinity, wide));
}

TEST(LabCompare, NearTheLargestValueInfinityIsARoundingAway) {
  const Tolerance close{.relative = 0x1p-10};
  EXPECT_TRUE(passes(kInfinity, 70000, close));  // what f16 makes of it
  EXPECT_TRUE(passes(65504, 65530, close));
  EXPECT_TRUE(passes(kInfinity, 65500, close));
  EXPECT_TRUE(passes(-kInfinity, -65500, close));
  EXPECT_FALSE(passes(-kInfinity, 65500, close));
  EXPECT_FALSE(passes(kInfinity, 60000, close));
  EXPECT_FALSE(passes(65504, 70000, close));
  EXPECT_FALSE(passes(kInfinity, 65500));
}

// What overflows may be a little less, and not just anything finite.
TEST(LabCompare, WhereInfinityIsRightAFiniteNumberMustBeNear) {
  EXPECT_FALSE(passes(1, 70000, {.relative = 0.1}));
  EXPECT_TRUE(passes(65504, 70000, {.relative = 0.1}));
}

TEST(LabCompare, AnInfiniteMagnitudeAllowsNothingMore) {
  const Tolerance tolerance{.relative = 0.01};
  EXPECT_FALSE(compared({5}, {{1}, {kInfinity}}, DType::f32, tolerance).good());
  EXPECT_FALSE(compared({5}, {{1}, {kNan}}, DType::f32, tolerance).good());
  EXPECT_TRUE(compared({1.005}, {{1}, {kInfinity}}, DType::f32, tolerance).good());
  EXPECT_FALSE(compared({5}, {{1}, {}}, DType::f32, {.relative = kInfinity}).good());
}

TEST(LabCompare, TheWorstElementIsTheOneFurthestOut) {
  const Comparison result =
      compared({1, 1.5, 3, 4}, {{1, 1, 1, 4}, {}}, DType::f32, {.relative = 0.5, .absolute = 0.5});
  EXPECT_EQ(result.wrong, 1u);
  EXPECT_EQ(result.worst, 2u);
  EXPECT_EQ(result.got, 3);
  EXPECT_EQ(result.want, 1);
  EXPECT_EQ(result.allowed, 1);
  EXPECT_EQ(result.worst_ratio, 2);
  // Of those with nothing finite to compare, the first.
  EXPECT_EQ(compared({1, kNan, kNan}, {{1, 2, 3}, {}}, DType::f32, {}).worst, 1u);
}

TEST(LabCompare, TheNormFindsManySmallErrors) {
  const Tolerance tolerance{.relative = 0.1, .norm = 0.01};
  const Comparison all = compared({1.05, 1.05}, {{1, 1}, {}}, DType::f32, tolerance);
  EXPECT_EQ(all.wrong, 0u);
  EXPECT_TRUE(all.norm_exceeded);
  EXPECT_FALSE(all.good());
  EXPECT_NEAR(all.norm_error, 0.05, 1e-6);
  EXPECT_EQ(all.norm_allowed, 0.01);
  EXPECT_TRUE(compared({1.005, 1.005}, {{1, 1}, {}}, DType::f32, tolerance).good());
  // At the end of the dtype's range a rounding is much of a number.
  const Tolerance with_subnormals{.relative = 0.1, .absolute = 0x1p-24, .norm = 0.01};
  EXPECT_TRUE(compared({0x1p-24, 0x1p-24}, {{0x1p-23, 0x1p-23}, {}}, DType::f16, with_subnormals).good());
  // Infinities that are right say nothing about it.
  EXPECT_TRUE(compared({kInfinity, 1}, {{kInfinity, 1}, {}}, DType::f32, tolerance).good());
  EXPECT_EQ(compared({0, 0}, {{0, 0}, {}}, DType::f32, tolerance).norm_error, 0);
}

TEST(LabCompare, IntegersAndDoubles) {
  EXPECT_TRUE(passes(7, 7, {}, DType::i32));
  EXPECT_FALSE(passes(8, 7, {}, DType::i32));
  EXPECT_TRUE(passes(1e300, 1e300, {}, DType::f64));
}

// What is added up goes by blocks that are the same on every machine, so the number of threads is not seen.
TEST(LabCompare, NormsAreThoseOfBlocksInOrder) {
  const std::size_t count = 70 * kBlockElements + 11;
  Expected expected;
  std::vector<double> got;
  for (std::size_t i = 0; i < count; ++i) {
    expected.values.push_back(std::sin(static_cast<double>(i)));
    got.push_back(expected.values[i] * (1 + 1e-6 * std::cos(3.0 * static_cast<double>(i))));
  }
  double errors = 0;
  double values = 0;
  for (std::size_t begin = 0; begin < count; begin += kBlockElements) {
    double block_errors = 0;
    double block_values = 0;
    for (std::size_t i = begin; i < std::min(count, begin + kBlockElements); ++i) {
      const double error = got[i] - expected.values[i];
      block_errors += error * error;
      block_values += expected.values[i] * expected.values[i];
    }
    errors += block_errors;
    values += block_values;
  }
  got[50 * kBlockElements + 3] += 1e-3;
  const double before = got[50 * kBlockElements + 3];
  const Comparison wrong = compare(expected, stored(got, DType::f64), DType::f64, {.relative = 1e-5});
  EXPECT_EQ(wrong.wrong, 1u);
  EXPECT_EQ(wrong.worst, 50 * kBlockElements + 3);
  EXPECT_EQ(wrong.got, before);
  got[50 * kBlockElements + 3] = expected.values[50 * kBlockElements + 3] *
                                 (1 + 1e-6 * std::cos(3.0 * static_cast<double>(50 * kBlockElements + 3)));
  const Comparison right = compare(expected, stored(got, DType::f64), DType::f64, {.relative = 1e-5});
  EXPECT_EQ(right.norm_error, std::sqrt(errors / values)) << "the same bits";
}

}  // namespace
}  // namespace gpuforge::lab
