// Did it become slower? Decided by confidence: two measurements differ when their difference is large beside
// what each varies by itself, and larger than what the same program varies by from run to run.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "gpuforge/lab/statistics.h"

namespace gpuforge::lab {

enum class Verdict { same, faster, slower, undecided };
std::string_view name(Verdict verdict);

struct Change {
  double ratio = 1;   // time now over time before
  Interval interval;  // of the ratio, 99.9 %
  Verdict verdict = Verdict::same;
};

// What no measurement inside one run shows: where memory came to lie, how warm the chip was.
inline constexpr double kRunToRun = 0.02;
// And how long the device takes to get from one kernel to the next: on an H200 it is in one of two states,
// 0.36 us apart, for a whole run (tests/lab/recorded has runs in both).
inline constexpr double kLaunchToLaunchMs = 0.00045;

// `before` and `now` hold the samples of a measurement, a list for each of its repetitions. The medians of
// the repetitions are what is compared, in logarithms, by Welch's t: slow drift, steps of the clock and
// bursts show in their spread, where the spread of single samples would hide them. Slower (faster): the whole
// interval of the ratio lies above 1 + least (below 1 / (1 + least)), and beyond what kLaunchToLaunchMs is of
// the shorter time. Undecided: the interval is too wide to tell even 5 %, or a kernel is too short for it.
// invalid_argument when either has no sample.
Change compare_timings(std::span<const std::vector<double>> before, std::span<const std::vector<double>> now,
                       double least = kRunToRun);

}  // namespace gpuforge::lab
