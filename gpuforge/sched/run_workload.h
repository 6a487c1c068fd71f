// A workload file on a device: the same scheduler as in a simulation, with real streams, kernels and time.
#pragma once

#include <functional>
#include <memory>

#include "gpuforge/context/context.h"
#include "gpuforge/sched/executor.h"
#include "gpuforge/sched/run_report.h"
#include "gpuforge/sched/workload.h"

namespace gpuforge::sched {

// What a step `kernel: ...` runs, with the operands it keeps between pieces. For one task alone.
class StepKernel {
 public:
  virtual ~StepKernel() = default;
  // Queues it once, on operands from the piece's allocator. Waits for nothing.
  virtual void queue(Piece& piece) = 0;
  virtual void release() = 0;  // its operands
};
// Called for each such step of each task before anything runs, so that kernels are found and compiled by
// then. What it throws becomes a parse Error with the step's line.
using MakeStepKernel = std::function<std::unique_ptr<StepKernel>(const KernelStep& step)>;

// `spin` and `stream` are stand-ins; on cpu and sim, where time in a kernel means nothing, host functions.
// Steps with a kernel of the user's need `make`. invalid_argument when the file promises more memory than the
// device has. What fails on the way, the device's loss included, is the end of the tasks it hit, with the
// reason in the report.
RunReport run_workload(const Workload& workload, const std::shared_ptr<Context>& context,
                       const MakeStepKernel& make = {});

}  // namespace gpuforge::sched
