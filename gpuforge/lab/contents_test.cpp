#include "gpuforge/lab/contents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gpuforge/base/convert.h"

namespace gpuforge::lab {
namespace {

std::vector<double> values(Contents contents, DType dtype = DType::f32, std::uint64_t seed = 1,
                           const std::string& name = "x", double centre = 0) {
  return make_input({.name = name, .dtype = dtype, .shape = {40, 50}, .centre = centre}, contents, seed)
      .values;
}

double mean(const std::vector<double>& list) {
  double sum = 0;
  for (const double one : list) sum += one;
  return sum / static_cast<double>(list.size());
}

TEST(LabContents, TheSameSeedGivesTheSameValues) {
  EXPECT_EQ(values(Contents::normal), values(Contents::normal));
  EXPECT_NE(values(Contents::normal), values(Contents::normal, DType::f32, 2));
  EXPECT_NE(values(Contents::normal), values(Contents::normal, DType::f32, 1, "y"));
}

// So that nobody changes the inputs of every recorded failure without noticing.
TEST(LabContents, OneKnownValue) {
  EXPECT_NEAR(values(Contents::normal)[0], -1.93001, 0.00001);
}

TEST(LabContents, NormalValuesLieAroundTheCentre) {
  const std::vector<double> list = values(Contents::normal, DType::f32, 3, "weight", 1);
  EXPECT_NEAR(mean(list), 1, 0.1);
  std::vector<double> squares;
  for (const double one : list) squares.push_back((one - 1) * (one - 1));
  EXPECT_NEAR(mean(squares), 1, 0.15);
}

TEST(LabContents, EveryValueIsOneOfTheDtype) {
  for (const DType dtype : kAllDTypes) {
    for (const Contents contents : {Contents::normal, Contents::huge, Contents::tiny}) {
      for (const double value : values(contents, dtype)) {
        std::uint64_t element = 0;
        store_double(&element, dtype, value);
        ASSERT_EQ(load_double(&element, dtype), value) << name(dtype);
        ASSERT_TRUE(std::isfinite(value)) << name(dtype) << " " << name(contents);
      }
    }
  }
}

TEST(LabContents, HardOnesAreWhatTheyAreCalled) {
  const auto count = [](const std::vector<double>& list, auto&& is) {
    return std::count_if(list.begin(), list.end(), is);
  };
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    EXPECT_EQ(count(values(Contents::zeros, dtype), [](double v) { return v == 0; }), 2000);
    const std::vector<double> constant = values(Contents::constant, dtype);
    EXPECT_NE(constant[0], 0);
    EXPECT_EQ(count(constant, [&](double v) { return v == constant[0]; }), 2000);
    const double large = dtype == DType::f16 ? 65504 : 3e38;
    EXPECT_EQ(count(values(Contents::huge, dtype), [&](double v) { return std::abs(v) > large / 5; }), 2000);
    EXPECT_NEAR(mean(values(Contents::huge, dtype)) / large, 0, 0.05);  // of both signs
    const double small = dtype == DType::f16 ? 0x1p-14 : 0x1p-126;
    const auto subnormal =
        count(values(Contents::tiny, dtype), [&](double v) { return v != 0 && std::abs(v) < small; });
    EXPECT_TRUE(subnormal > 600 && subnormal < 1800) << subnormal;
    const auto up = count(values(Contents::infinities, dtype), [](double v) { return v == INFINITY; });
    const auto down = count(values(Contents::infinities, dtype), [](double v) { return v == -INFINITY; });
    EXPECT_TRUE(up > 5 && down > 5 && up + down < 80) << up << " " << down;
    const auto nans = count(values(Contents::nans, dtype), [](double v) { return std::isnan(v); });
    EXPECT_TRUE(nans > 10 && nans < 80) << nans;
  }
}

TEST(LabContents, IntegersAreNotNearlyAllZero) {
  const std::vector<double> list = values(Contents::normal, DType::i32);
  EXPECT_LT(std::count(list.begin(), list.end(), 0), 100);
}

TEST(LabContents, EmptyAndScalar) {
  EXPECT_TRUE(make_input({.name = "x", .shape = {3, 0}}, Contents::normal, 1).values.empty());
  EXPECT_EQ(make_input({.name = "x", .shape = {}}, Contents::normal, 1).values.size(), 1u);
}

}  // namespace
}  // namespace gpuforge::lab
