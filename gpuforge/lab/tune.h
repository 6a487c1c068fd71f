// Which of an op's configurations is fastest on a device: each candidate is compiled, verified and measured,
// and every result is kept (lab/tuning_cache.h).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpuforge/lab/change.h"
#include "gpuforge/lab/count.h"
#include "gpuforge/lab/measure.h"
#include "gpuforge/lab/search.h"
#include "gpuforge/lab/tuning_cache.h"

namespace gpuforge::lab {

// Many candidates, each known less well than a case of bench.
inline MeasureOptions quick_measure() {
  MeasureOptions options;
  options.repetitions = 4;
  options.seconds = 0.2;
  options.warmup_seconds = 0.05;
  return options;
}

struct TuneRequest {
  Problem problem;  // complete
  std::string variant;
  SearchOptions search;
  std::optional<double> seconds;  // no candidate is begun after that
  std::size_t shard = 1;          // of `shards`: every shards-th candidate; the default is in each
  std::size_t shards = 1;
  bool again = false;  // measure what is known, too
  MeasureOptions measure = quick_measure();
  MeasureOptions settle;                      // of the fastest ones, in the end
  std::function<double(const Config&)> cost;  // instead of measuring; for tests
};

struct TuneStep {
  std::size_t done = 0;  // candidates looked at
  std::size_t all = 0;   // at most
  std::string what;      // "compiling 8", "block=256 vector=8"
};

// Where results come from and go to; every one may be left out.
struct TuneSinks {
  std::span<const TuningRecord> known;            // of earlier runs
  std::function<void(const TuningRecord&)> keep;  // called once for each new one, as soon as it is there
  std::function<void(const TuneStep&)> progress;
};

struct TuneResult {
  std::vector<TuningRecord> records;  // of all that were looked at, the default first
  std::size_t space = 0;              // how many there are to try
  std::size_t known = 0;              // of the records, those that earlier runs have measured
  std::string ended;                  // why before its time; empty: it went through
  bool device_lost = false;
  // A winner may have won by noise. So those that seem fastest, and the default, are measured again and
  // longer until the two best are such; these are the changes from the default, and from the next best, to
  // the best. None where costs are counted, where there is nothing to compare with, or where all of that was
  // known.
  std::optional<Change> over_default;
  std::optional<Change> over_next;

  const TuningRecord* usual() const;  // the default; nullptr when it is not good
  const TuningRecord* best() const;   // nullptr when none is good
  const TuningRecord* next() const;   // the best of the others; nullptr when there is none
};

// "ms" on a GPU, "proxy" in the simulator.
std::string_view cost_unit(const device::DeviceFacts& facts);
// The simulator has no time. This ranks configurations by what a multiprocessor of today would be busy with:
// 2 for a sector of 32 bytes moved, 1 for a wavefront of shared memory, 1/4 for an instruction of a warp.
// Latency, occupancy and the spread over multiprocessors are not in it.
double sim_proxy(const Counts& counts);

// The configurations, and the default among them or not. invalid_argument when there is nothing to choose:
// the variant has no choices, or the device runs no kernels.
std::vector<Config> tuning_space(const Op& op, const Problem& problem, std::string_view variant,
                                 const device::DeviceFacts& facts);

// A candidate is known when a record has the same device, problem, configuration and compile key. Kernels are
// compiled ahead on several threads, never while one is timed. Errors are for what no candidate is at fault
// for; a candidate after which the device runs nothing more is discarded and ends the search.
TuneResult tune(const Op& op, const TuneRequest& request, const std::shared_ptr<Context>& context,
                const TuneSinks& sinks = {});

}  // namespace gpuforge::lab
