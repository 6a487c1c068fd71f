#include "gpuforge/lab/change.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "gpuforge/base/error.h"

namespace gpuforge::lab {
namespace {

using Repetitions = std::vector<std::vector<double>>;

// What a run on a GPU looks like: samples skewed to the slow side, repetitions that differ a little, a clock
// that drifts while it runs, and a run that as a whole is faster or slower than the next.
struct Noise {
  double sample = 0.004;
  double repetition = 0.002;
  double drift = 0;  // over the run
  double run = 0.004;
  double bursts = 0;  // share of samples that something else slows by 30 %
};

Repetitions simulated(double time_ms, const Noise& noise, std::mt19937_64& random, int repetitions = 8) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const double run = 1 + noise.run * normal(random);
  Repetitions result;
  for (int r = 0; r < repetitions; ++r) {
    const double place =
        1 + noise.repetition * normal(random) + noise.drift * r / std::max(repetitions - 1, 1);
    std::vector<double> samples;
    for (int i = 0; i < 20; ++i) {
      double sample = time_ms * run * place * (1 + noise.sample * std::abs(normal(random)));
      if (uniform(random) < noise.bursts) sample *= 1.3;
      samples.push_back(sample);
    }
    result.push_back(std::move(samples));
  }
  return result;
}

struct Kind {
  const char* what;
  Noise noise;
};
const Kind kKinds[] = {
    {"a quiet machine", {.sample = 0.001, .repetition = 0.0005, .run = 0.001}},
    {"as usual", {}},
    {"a clock that falls by 1 % during the run", {.drift = 0.01}},
    {"short kernels", {.sample = 0.02, .repetition = 0.005}},
    {"a neighbour on the machine", {.bursts = 0.1}},
};

// Sixteen cases a run, twenty runs, none of them accused.
TEST(Change, TheSameProgramRaisesNoAlarmInTwentyRuns) {
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.what);
    std::mt19937_64 random(1);
    int alarms = 0;
    for (int i = 0; i < 20 * 16; ++i) {
      const Change change =
          compare_timings(simulated(0.5, kind.noise, random), simulated(0.5, kind.noise, random));
      alarms += change.verdict == Verdict::slower || change.verdict == Verdict::faster;
    }
    EXPECT_EQ(alarms, 0);
  }
}

TEST(Change, FivePerCentAreFound) {
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.what);
    std::mt19937_64 random(2);
    int found = 0;
    for (int i = 0; i < 100; ++i) {
      const Change change =
          compare_timings(simulated(0.5, kind.noise, random), simulated(0.525, kind.noise, random));
      found += change.verdict == Verdict::slower;
      EXPECT_NE(change.verdict, Verdict::faster);
    }
    EXPECT_GE(found, 97);
  }
}

TEST(Change, TellsFasterToo) {
  std::mt19937_64 random(3);
  const Change change = compare_timings(simulated(1.0, {}, random), simulated(0.8, {}, random));
  EXPECT_EQ(change.verdict, Verdict::faster);
  EXPECT_NEAR(change.ratio, 0.8, 0.02);
  EXPECT_LT(change.interval.low, change.ratio);
  EXPECT_GT(change.interval.high, change.ratio);
}

TEST(Change, WhatIsTooNoisyIsUndecidedAndNotAnAlarm) {
  const Repetitions before = {{1.0}, {1.2}, {0.9}};
  const Repetitions now = {{1.1}, {1.3}, {0.95}};
  EXPECT_EQ(compare_timings(before, now).verdict, Verdict::undecided);
}

TEST(Change, OneRepetitionNeedsALargeDifference) {
  const Repetitions before = {{1.0, 1.0, 1.0}};
  EXPECT_EQ(compare_timings(before, Repetitions{{1.05, 1.05}}).verdict, Verdict::undecided);
}

TEST(Change, TheLeastDifferenceThatCountsIsTheCallers) {
  const Repetitions before = {{1.0}, {1.001}, {0.999}, {1.0}, {1.0}};
  const Repetitions now = {{1.05}, {1.051}, {1.049}, {1.05}, {1.05}};
  EXPECT_EQ(compare_timings(before, now).verdict, Verdict::slower);
  EXPECT_EQ(compare_timings(before, now, 0.10).verdict, Verdict::same);
  EXPECT_EQ(compare_timings(before, before, 0).verdict, Verdict::same);
}

TEST(Change, OfNothingIsRefused) {
  const Repetitions some = {{1.0}};
  EXPECT_THROW(compare_timings({}, some), Error);
  EXPECT_THROW(compare_timings(some, Repetitions{{}, {}}), Error);
  EXPECT_THROW(compare_timings(some, Repetitions{{0.0}}), Error);
}

// A step from kernel to kernel that differs between two runs is not the kernel's.
TEST(Change, ShortKernelsAreNotBlamedForTheLaunch) {
  const auto run = [](double ms) { return std::vector<std::vector<double>>(8, std::vector<double>(16, ms)); };
  EXPECT_EQ(name(compare_timings(run(0.00349), run(0.00385)).verdict), "undecided");
  EXPECT_EQ(name(compare_timings(run(0.00385), run(0.00349)).verdict), "undecided");
  EXPECT_EQ(name(compare_timings(run(0.00349), run(0.0042)).verdict), "slower");
  EXPECT_EQ(name(compare_timings(run(0.0349), run(0.0385)).verdict), "slower");
  EXPECT_EQ(name(compare_timings(run(0.00349), run(0.00350)).verdict), "same");
}

}  // namespace
}  // namespace gpuforge::lab
