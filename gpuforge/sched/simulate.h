// A workload on a virtual clock: the decisions a device would get, without one, the same from the same input.
#pragma once

#include <functional>

#include "gpuforge/sched/run_report.h"
#include "gpuforge/sched/workload.h"

namespace gpuforge::sched {

struct SimulateOptions {
  // After every step, for those who want to look at the books.
  std::function<void(const Scheduler&)> watch;
};

// invalid_argument when the file asks for memory and does not say how much the device has.
RunReport simulate(const Workload& workload, const SimulateOptions& options = {});

}  // namespace gpuforge::sched
