// A result of tuning as a line of JSON.
#pragma once

#include "gpuforge/base/json.h"
#include "gpuforge/lab/tuning_cache.h"

namespace gpuforge::lab {

Json to_json(const TuningRecord& record);
// parse Error when it is none of ours, or of a later schema.
TuningRecord tuning_record(const Json& json);

}  // namespace gpuforge::lab
