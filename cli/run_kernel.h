// The middle of `gpuforge run`: device, memory, launch, and the arrays that come back.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/run_request.h"
#include "cli/session.h"
#include "gpuforge/array/array.h"

namespace gpuforge::cli {

struct LaunchTimes {
  std::vector<float> milliseconds;  // of each launch, between events
  float lowest() const;
  float median() const;
  float highest() const;
};

struct RunOutput {
  std::size_t argument = 0;  // index
  Array array;
};

struct RunResult {
  std::shared_ptr<Context> context;
  std::shared_ptr<device::Stream> stream;
  std::shared_ptr<const jit::Kernel> kernel;
  std::vector<RunOutput> outputs;  // out and inout, in order
  LaunchTimes times;
  std::vector<std::string> warnings;
  // Of the simulator: the first launch with findings, else the last one.
  std::optional<sim::LaunchReport> report;
};

// Everything that can be wrong is looked for before memory is taken: the file, the kernel's name, number and
// types of the arguments, the launch's limits, the memory. Where no device can run it, all of that which
// needs none is checked first, then the Error says what is missing.
RunResult run_kernel(Session& session, const Invocation& invocation, const RunRequest& request);

}  // namespace gpuforge::cli
