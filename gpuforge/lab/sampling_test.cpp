#include "gpuforge/lab/sampling.h"

#include <gtest/gtest.h>

#include <random>

namespace gpuforge::lab {
namespace {

class Sampling : public testing::Test {
 protected:
  std::vector<double> take(double spread, const SamplingOptions& options) {
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal(1.0, spread);
    return sample_until_quiet(
        [&] {
          time_ += 0.001;
          return std::vector<double>{normal(random), normal(random), normal(random)};
        },
        options, [this] { return time_; });
  }
  double time_ = 0;
};

TEST_F(Sampling, StopsSoonWhenItIsQuiet) {
  EXPECT_EQ(take(0.0001, {}).size(), 12u);  // the first batch that reaches ten
}

TEST_F(Sampling, TakesMoreWhenItIsNoisy) {
  const std::size_t taken = take(0.02, {.noise = 0.005, .seconds = 10}).size();
  EXPECT_GT(taken, 30u);
  EXPECT_LT(taken, 300u);
}

TEST_F(Sampling, StopsAtTheTimeLimit) {
  EXPECT_EQ(take(0.5, {.noise = 0.0001, .seconds = 0.02}).size(), 60u);
}

TEST_F(Sampling, ASlowThingGetsItsTimeAndNoMore) {
  EXPECT_EQ(take(0.5, {.seconds = 0.0001}).size(), 3u);
}

TEST_F(Sampling, StopsAtTheCountLimit) {
  EXPECT_EQ(take(0.5, {.noise = 0.0001, .seconds = 1e9, .most = 100}).size(), 100u);
}

TEST_F(Sampling, TakesExactlyWhatWasAsked) {
  EXPECT_EQ(take(0.5, {.seconds = 0, .exactly = 50}).size(), 50u);
  EXPECT_EQ(take(0.0, {.exactly = 1}).size(), 1u);
}

}  // namespace
}  // namespace gpuforge::lab
