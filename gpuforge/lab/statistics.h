// Numbers about samples. Pure.
#pragma once

#include <cstddef>
#include <span>

namespace gpuforge::lab {

struct Summary {
  std::size_t count = 0;
  double min = 0;
  double mean = 0;
  double p50 = 0;
  double p90 = 0;
  double max = 0;
};
// invalid_argument when there is none.
Summary summarize(std::span<const double> samples);
double median(std::span<const double> samples);

// Of ascending samples, with linear interpolation between neighbours; q from 0 to 1.
double quantile(std::span<const double> sorted, double q);

struct Interval {
  double low = 0;
  double high = 0;
};

// Where the true median lies with 95 % confidence, from order statistics: whatever the distribution of the
// samples, provided they are independent. With fewer than six samples no such interval exists; it is then
// from the lowest to the highest.
Interval median_interval(std::span<const double> samples);

// Half the interval's width over the median: the noise of the median.
double median_noise(std::span<const double> samples);

}  // namespace gpuforge::lab
