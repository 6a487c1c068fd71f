#include "gpuforge/lab/change.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gpuforge/base/error.h"

namespace gpuforge::lab {
namespace {

// Repetitions may agree by chance; a median is not known better than this.
constexpr double kLeastDeviation = 0.002;
constexpr double kWorthDeciding = 0.05;

struct Spread {
  double mean = 0;      // of the logarithms
  double variance = 0;  // of that mean
  double freedom = 1;
};

Spread spread_of(std::span<const std::vector<double>> repetitions) {
  std::vector<double> logs;
  for (const std::vector<double>& samples : repetitions) {
    if (samples.empty()) continue;
    const double middle = median(samples);
    GPUFORGE_CHECK(middle > 0 && std::isfinite(middle),
                   "compare: times above zero were expected; found a median of {} ms", middle);
    logs.push_back(std::log(middle));
  }
  GPUFORGE_CHECK(!logs.empty(), "compare: a measurement without samples has nothing to compare");
  Spread spread;
  for (const double value : logs) spread.mean += value / static_cast<double>(logs.size());
  double squares = 0;
  for (const double value : logs) squares += (value - spread.mean) * (value - spread.mean);
  const double count = static_cast<double>(logs.size());
  // A single repetition says nothing about its own spread.
  const double found = count > 1 ? squares / (count - 1) : 0.01 * 0.01;
  spread.variance = std::max(found, kLeastDeviation * kLeastDeviation) / count;
  spread.freedom = std::max(count - 1, 1.0);
  return spread;
}

// Student's t, 99.9 % two-sided, interpolated over 1 / freedom.
double t_quantile(double freedom) {
  struct Row {
    double freedom;
    double t;
  };
  constexpr std::array kTable = {Row{1, 636.6},  Row{2, 31.60},  Row{3, 12.92},  Row{4, 8.610},
                                 Row{5, 6.869},  Row{6, 5.959},  Row{8, 5.041},  Row{10, 4.587},
                                 Row{15, 4.073}, Row{20, 3.850}, Row{40, 3.551}, Row{1e9, 3.291}};
  if (freedom <= 1) return kTable[0].t;
  std::size_t above = 1;
  while (above + 1 < kTable.size() && kTable[above].freedom < freedom) ++above;
  const Row low = kTable[above - 1];
  const Row high = kTable[above];
  const double share = (1 / freedom - 1 / low.freedom) / (1 / high.freedom - 1 / low.freedom);
  return low.t + std::clamp(share, 0.0, 1.0) * (high.t - low.t);
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::same:
      return "same";
    case Verdict::faster:
      return "faster";
    case Verdict::slower:
      return "slower";
    case Verdict::undecided:
      return "undecided";
  }
  throw Error(ErrorCode::internal, "lab: not a value of the verdict enumeration");
}

Change compare_timings(std::span<const std::vector<double>> before, std::span<const std::vector<double>> now,
                       double least) {
  const Spread a = spread_of(before);
  const Spread b = spread_of(now);
  const double variance = a.variance + b.variance;
  const double freedom =
      variance * variance / (a.variance * a.variance / a.freedom + b.variance * b.variance / b.freedom);
  const double reach = t_quantile(freedom) * std::sqrt(variance);
  const double difference = b.mean - a.mean;
  Change change{.ratio = std::exp(difference),
                .interval = {std::exp(difference - reach), std::exp(difference + reach)}};
  const double edge = std::log1p(least);
  const double shorter_ms = std::exp(std::min(a.mean, b.mean));
  const double sure = std::max(edge, std::log1p(kLaunchToLaunchMs / shorter_ms));
  if (difference - reach > sure) {
    change.verdict = Verdict::slower;
  } else if (difference + reach < -sure) {
    change.verdict = Verdict::faster;
  } else if (std::abs(difference) + reach > std::log1p(std::max(kWorthDeciding, least)) + edge) {
    change.verdict = Verdict::undecided;
  }
  return change;
}

}  // namespace gpuforge::lab
