#include "gpuforge/lab/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "gpuforge/base/error.h"

namespace gpuforge::lab {
namespace {

std::vector<double> ascending(std::span<const double> samples) {
  GPUFORGE_CHECK(!samples.empty(), "statistics: at least one sample was expected; found none");
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// The largest k with P(Binomial(n, 1/2) < k) <= 2.5 %; the k-th lowest and k-th highest samples then enclose
// the median in 95 % of cases. 0 when even the extremes do not.
std::size_t enclosing_rank(std::size_t n) {
  const double count = static_cast<double>(n);
  if (n > 1000) {  // the normal approximation is exact enough
    return static_cast<std::size_t>(std::floor(count / 2 - 1.959964 * std::sqrt(count) / 2));
  }
  double below = 0;  // P(fewer than k)
  double exactly = std::exp2(-count);
  for (std::size_t k = 0;; ++k) {
    below += exactly;
    if (below > 0.025) return k;
    exactly *= (count - static_cast<double>(k)) / static_cast<double>(k + 1);
  }
}

}  // namespace

double quantile(std::span<const double> sorted, double q) {
  GPUFORGE_CHECK(!sorted.empty() && q >= 0 && q <= 1, "quantile: samples and a share from 0 to 1 expected");
  const double at = q * static_cast<double>(sorted.size() - 1);
  const std::size_t low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

Summary summarize(std::span<const double> samples) {
  const std::vector<double> sorted = ascending(samples);
  return {.count = sorted.size(),
          .min = sorted.front(),
          .mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size()),
          .p50 = quantile(sorted, 0.5),
          .p90 = quantile(sorted, 0.9),
          .max = sorted.back()};
}

double median(std::span<const double> samples) {
  return quantile(ascending(samples), 0.5);
}

Interval median_interval(std::span<const double> samples) {
  const std::vector<double> sorted = ascending(samples);
  const std::size_t rank = std::max<std::size_t>(enclosing_rank(sorted.size()), 1);
  return {sorted[rank - 1], sorted[sorted.size() - rank]};
}

double median_noise(std::span<const double> samples) {
  const Interval interval = median_interval(samples);
  const double middle = median(samples);
  return middle > 0 ? (interval.high - interval.low) / 2 / middle : 0;
}

}  // namespace gpuforge::lab
