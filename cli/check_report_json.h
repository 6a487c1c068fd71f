// A CheckReport as JSON and back, whole: what a child tells its parent.
#pragma once

#include "gpuforge/base/json.h"
#include "gpuforge/lab/check.h"

namespace gpuforge::cli {

Json report_json(const lab::CheckReport& report);
// parse Error when it is none.
lab::CheckReport report_of(const Json& json);

}  // namespace gpuforge::cli
