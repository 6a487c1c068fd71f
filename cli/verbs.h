// The verbs, one file each.
#pragma once

#include <span>

#include "cli/command.h"

namespace gpuforge::cli {

extern const Command kDoctorCommand;
extern const Command kDevicesCommand;
extern const Command kCompileCommand;
extern const Command kRunCommand;
extern const Command kOpsCommand;
extern const Command kCheckCommand;
extern const Command kBenchCommand;
extern const Command kNewCommand;
extern const Command kTuneCommand;
extern const Command kSchedCommand;
extern const Command kLayoutCommand;
extern const Command kProfileCommand;
extern const Command kCacheCommand;
extern const Command kCompletionCommand;
extern const Command kHelpCommand;
extern const Command kVersionCommand;
extern const Command kCheckCasesCommand;  // hidden: kernel files, checked in a child process
extern const Command kProbeCommand;       // hidden: doctor's questions, asked in a child process

// In the order the help lists them.
std::span<const Command* const> all_commands();

}  // namespace gpuforge::cli
