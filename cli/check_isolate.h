// Cases of `check` on a user's kernel, run in a child process: a kernel that crashes, hangs or loses the
// device costs one case. The child is this program with the hidden verb `check-cases`; it answers with a line
// of JSON for each case. A child runs as many cases as it survives.
#pragma once

#include <chrono>
#include <string>

#include "cli/check_request.h"
#include "cli/session.h"
#include "gpuforge/lab/check_plan.h"

namespace gpuforge::cli {

// Runs the plan's cases in the order they have there. After one that gave no answer in time, the remaining
// cases of its op are not run.
lab::CaseRunner isolated_runner(Session& session, const lab::CheckPlan& plan, const CheckArguments& arguments,
                                std::string device, std::chrono::seconds limit);

// Kernel files compile, in every dtype that is asked for, and the device can run them: a compile Error is
// better than every case saying the same. Their cases find the result in the cache.
void prepare_kernel_files(std::span<const lab::Op> ops, const lab::CheckRequest& request,
                          const std::shared_ptr<Context>& context);

}  // namespace gpuforge::cli
