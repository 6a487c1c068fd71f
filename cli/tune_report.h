// What `gpuforge tune` prints: the best configurations, what was discarded and why, what is kept.
#pragma once

#include <span>
#include <string>

#include "gpuforge/base/json.h"
#include "gpuforge/device/device.h"
#include "gpuforge/lab/tune.h"

namespace gpuforge::cli {

// What the numbers are where they are no times; empty on a GPU.
std::string what_is_ranked(const device::DeviceFacts& facts);
// The best ten, then sentences, each on its line.
std::string tune_text(const lab::Op& op, const lab::TuneRequest& request, const lab::TuneResult& result,
                      const device::DeviceFacts& facts, int columns);
Json tune_json(const lab::TuneRequest& request, const lab::TuneResult& result);

// A line for each device, op, variant and problem with what was best; `op` empty: every op.
std::string kept_text(std::span<const lab::TuningRecord> records, std::string_view op);
Json kept_json(std::span<const lab::TuningRecord> records, std::string_view op);

}  // namespace gpuforge::cli
