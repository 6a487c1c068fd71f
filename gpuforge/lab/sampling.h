// How many samples are enough: a stopping rule on the noise of the median. Pure but for the clock it is
// given.
#pragma once

#include <functional>
#include <optional>
#include <vector>

namespace gpuforge::lab {

struct SamplingOptions {
  double noise = 0.005;                // enough when the median is known to within this, relatively
  std::size_t least = 10;              // and these many are there,
  double seconds = 0.1;                // or when this much time has passed, and there are two,
  std::size_t most = 2000;             // or at this many
  std::optional<std::size_t> exactly;  // instead of all of the above
};

// Some samples at a time, at least one.
using Batch = std::function<std::vector<double>()>;
using SecondsClock = std::function<double()>;

std::vector<double> sample_until_quiet(const Batch& batch, const SamplingOptions& options,
                                       const SecondsClock& now);

double steady_seconds();  // the usual clock

}  // namespace gpuforge::lab
