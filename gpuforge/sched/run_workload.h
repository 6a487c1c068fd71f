// A workload file on a device: the same scheduler as in a simulation, with real streams, kernels and time.
#pragma once

#include <memory>

#include "gpuforge/context/context.h"
#include "gpuforge/sched/run_report.h"
#include "gpuforge/sched/workload.h"

namespace gpuforge::sched {

// Kernels are stand-ins that spin or move bytes; on cpu and sim, where time in a kernel means nothing, host
// functions that do. invalid_argument when the file promises more memory than the device has. What fails on
// the way, the device's loss included, is the end of the tasks it hit, with the reason in the report.
RunReport run_workload(const Workload& workload, const std::shared_ptr<Context>& context);

}  // namespace gpuforge::sched
