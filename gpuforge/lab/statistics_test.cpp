#include "gpuforge/lab/statistics.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include "gpuforge/base/error.h"

namespace gpuforge::lab {
namespace {

std::vector<double> counting(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(Statistics, SummaryInterpolatesBetweenNeighbours) {
  const std::vector<double> samples = {4, 1, 3, 2};
  const Summary summary = summarize(samples);
  EXPECT_EQ(summary.count, 4u);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.max, 4);
  EXPECT_EQ(summary.mean, 2.5);
  EXPECT_EQ(summary.p50, 2.5);
  EXPECT_DOUBLE_EQ(summary.p90, 3.7);
  EXPECT_EQ(summarize(std::vector<double>{7}).p90, 7);
}

TEST(Statistics, OfNothingIsRefused) {
  EXPECT_THROW(summarize({}), Error);
  EXPECT_THROW(median({}), Error);
  EXPECT_THROW(median_interval({}), Error);
}

// Ranks from the tables of the sign test.
TEST(Statistics, MedianIntervalHasTheTabulatedRanks) {
  const auto ranks = [](int n) {
    const Interval interval = median_interval(counting(n));
    return std::pair(interval.low, interval.high);
  };
  EXPECT_EQ(ranks(1), std::pair(1.0, 1.0));
  EXPECT_EQ(ranks(5), std::pair(1.0, 5.0));
  EXPECT_EQ(ranks(6), std::pair(1.0, 6.0));
  EXPECT_EQ(ranks(9), std::pair(2.0, 8.0));
  EXPECT_EQ(ranks(20), std::pair(6.0, 15.0));
  EXPECT_EQ(ranks(100), std::pair(40.0, 61.0));
  EXPECT_EQ(ranks(1000), std::pair(469.0, 532.0));
  EXPECT_EQ(ranks(1001), std::pair(469.0, 533.0));
}

TEST(Statistics, MedianIntervalEnclosesTheMedianAsOftenAsItSays) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> skewed(0, 1);  // median 1
  int enclosed = 0;
  const int tries = 2000;
  for (int i = 0; i < tries; ++i) {
    std::vector<double> samples(25);
    for (double& sample : samples) sample = skewed(random);
    const Interval interval = median_interval(samples);
    enclosed += interval.low <= 1 && interval.high >= 1;
  }
  EXPECT_GT(enclosed, tries * 94 / 100);
  EXPECT_LT(enclosed, tries * 98 / 100);
}

TEST(Statistics, NoiseIsRelative) {
  EXPECT_EQ(median_noise(std::vector<double>(20, 3.0)), 0);
  EXPECT_DOUBLE_EQ(median_noise(counting(20)), 4.5 / 10.5);
  EXPECT_EQ(median_noise(std::vector<double>{0, 0}), 0);
}

}  // namespace
}  // namespace gpuforge::lab
