// What tuning found out on this machine, for the contexts of a program.
#pragma once

#include <filesystem>

#include "gpuforge/base/log.h"
#include "gpuforge/context/tuning_table.h"
#include "gpuforge/device/device.h"

namespace gpuforge::ops {

// From the folder that results of tuning are kept in (lab/tuning_cache.h): the best configurations for such a
// device, but for those that the ops no longer have. Empty for the CPU, whose code has no configurations, and
// where nothing was tuned.
TuningTable tuned_choices(const std::filesystem::path& folder, const device::DeviceFacts& facts, Log& log);

}  // namespace gpuforge::ops
