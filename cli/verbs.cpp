#include "cli/verbs.h"

namespace gpuforge::cli {
namespace {

constexpr const Command* kAll[] = {
    &kDoctorCommand,  &kDevicesCommand,    &kCompileCommand, &kRunCommand,        &kNewCommand,
    &kOpsCommand,     &kCheckCommand,      &kBenchCommand,   &kTuneCommand,       &kProfileCommand,
    &kSchedCommand,   &kLayoutCommand,     &kCacheCommand,   &kCompletionCommand, &kHelpCommand,
    &kVersionCommand, &kCheckCasesCommand, &kProbeCommand};

}  // namespace

std::span<const Command* const> all_commands() {
  return kAll;
}

}  // namespace gpuforge::cli
