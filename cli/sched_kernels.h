// Kernels of workload files: ops of the library and kernel files with a head, as check and bench take them.
#pragma once

#include <filesystem>
#include <memory>

#include "cli/session.h"
#include "gpuforge/context/context.h"
#include "gpuforge/sched/run_workload.h"

namespace gpuforge::cli {

// Files are looked for beside the workload. `session` and the context outlive what is made.
sched::MakeStepKernel step_kernels(const Session& session, std::shared_ptr<Context> context,
                                   const std::filesystem::path& workload);

}  // namespace gpuforge::cli
