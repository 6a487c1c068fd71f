// What was asked of `gpuforge tune`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/session.h"
#include "gpuforge/lab/tune.h"

namespace gpuforge::cli {

// One request for each dtype and shape. Mistakes are invalid_argument.
std::vector<lab::TuneRequest> read_tune_requests(const Invocation& invocation, const lab::Op& op);

}  // namespace gpuforge::cli
