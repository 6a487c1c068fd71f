// What measured calls left behind. Not installed.
#pragma once

#include <memory>
#include <string>

#include "gpuforge/lab/workload.h"

namespace gpuforge::lab {

// The outputs of every set of a workload that was called, against what was worked out. Empty when all are
// right, else what is wrong in a sentence: a kernel may be right when it is verified, and wrong on other
// memory or after so many calls. Waits.
std::string recheck(const Op& op, const Problem& problem, const Worked& worked, const Workload& work,
                    const std::shared_ptr<Context>& context);

}  // namespace gpuforge::lab
