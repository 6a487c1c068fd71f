// The simulator's side of `gpuforge run`: its options, and how its report is shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/session.h"
#include "gpuforge/device/sim_device.h"

namespace gpuforge::cli {

struct SimRequest {
  device::SimOptions options;
  bool report = false;             // show the counts
  std::vector<std::string> given;  // names of the options that only the simulator takes
};

// Mistakes are invalid_argument.
SimRequest read_sim_request(const Invocation& invocation);
// invalid_argument when an option for the simulator was given and `device` is not it.
void check_is_sim(const SimRequest& request, const device::DeviceFacts& device);

// Findings to stderr, and to stdout the counts if they were asked for. The exit code.
int show_report(Session& session, const SimRequest& request, const sim::LaunchReport& report);

inline constexpr Option kSimOptions[] = {
    {.name = "report", .help = "sim: print what was counted, by source line"},
    {.name = "no-races", .help = "sim: do not look for races"},
    {.name = "no-init", .help = "sim: do not look for values that were never written"},
    {.name = "schedule",
     .value = "N",
     .help = "sim: another order of blocks, warps and lanes for every N (0: in order)"},
    {.name = "schedules",
     .value = "N",
     .help = "sim: run it in N other orders too; a result that differs is a finding"},
    {.name = "max-steps", .value = "N", .help = "sim: end the launch after N warp instructions"},
    {.name = "suppress",
     .value = "FILE:LINE",
     .help = "sim: findings at this line of the source do not count",
     .repeatable = true},
};

}  // namespace gpuforge::cli
