// What the verbs of the lab share: the ops that are named and the device they run on.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/session.h"
#include "gpuforge/lab/op.h"

namespace gpuforge::cli {

// The ops of these names, in that order and each once; all of them for none. invalid_argument with the
// nearest name.
std::vector<lab::Op> named_ops(std::span<const std::string> names);

// On --device, or on the lab's default: cuda:0, else sim, else, where nothing compiles kernels, cpu. Taking
// the next one is a warning.
std::shared_ptr<Context> open_lab_context(Session& session);

// Where results of tuning are kept; nothing when there is no cache folder.
std::optional<std::filesystem::path> tuning_folder(const Session& session);
// What was tuned on such a device, but for configurations that ops no longer have. Empty with --no-tuning.
TuningTable tuning_for(const Session& session, const device::DeviceFacts& facts);

}  // namespace gpuforge::cli
