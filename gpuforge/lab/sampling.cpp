#include "gpuforge/lab/sampling.h"

#include <algorithm>
#include <chrono>

#include "gpuforge/lab/statistics.h"

namespace gpuforge::lab {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<double> sample_until_quiet(const Batch& batch, const SamplingOptions& options,
                                       const SecondsClock& now) {
  const double start = now();
  const std::size_t most = options.exactly.value_or(options.most);
  std::vector<double> samples;
  while (samples.size() < most) {
    const std::vector<double> more = batch();
    samples.insert(samples.end(), more.begin(), more.end());
    if (options.exactly || samples.size() < 2) continue;
    if (now() - start >= options.seconds) break;
    if (samples.size() >= options.least && median_noise(samples) <= options.noise) break;
  }
  samples.resize(std::min(samples.size(), most));
  return samples;
}

}  // namespace gpuforge::lab
