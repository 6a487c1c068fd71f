// How long a workload takes, measured on the device.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/lab/clock_meter.h"
#include "gpuforge/lab/sampling.h"
#include "gpuforge/lab/statistics.h"
#include "gpuforge/lab/workload.h"

namespace gpuforge::lab {

// graph: many calls over rotating operands, recorded once and replayed; an event pair around each replay.
// events: an event pair around each call, with the second-level cache overwritten before it.
// host: the host's clock around a call and its end; what a cpu device has.
enum class Method { graph, events, host };
std::string_view name(Method method);

struct MeasureOptions {
  Method method = Method::graph;
  // How often all of it is repeated: what differs from one to the next is what comparisons go by.
  int repetitions = 8;
  double seconds = 1.0;                   // for all samples; less when the noise allows
  double noise = 0.005;                   // of a repetition's median, see SamplingOptions
  double warmup_seconds = 0.2;            // of the same work, before
  std::optional<std::size_t> warmup;      // calls, instead
  std::optional<std::size_t> iterations;  // samples in all, instead of the stopping rule
};

struct Measurement {
  std::string method;                        // "graph", "events", "host"
  std::string note;                          // why it is not the method that was asked for
  std::vector<std::vector<double>> samples;  // milliseconds of one call, a list per repetition
  Summary summary;                           // over all of them
  Interval median;                           // 95 %
  std::size_t calls_per_sample = 1;
  std::size_t sets = 1;
  bool colder_than_cache = false;  // the sets are together larger than the cache
  std::optional<ClockReport> clock;
};

// Devices of kind cuda take graph or events; a cpu device is always measured by the host's clock. The
// simulator has no time: unsupported. One that must be prepared before each call is measured by events, and
// the note says so. In the end the outputs are poisoned and the same calls made once more: what is
// in them then is what the measured calls compute.
Measurement measure(const Workload& work, const std::shared_ptr<Context>& context,
                    const MeasureOptions& options);

}  // namespace gpuforge::lab
