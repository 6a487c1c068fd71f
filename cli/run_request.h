// What `gpuforge run` was asked to do, read from the command line and checked as far as no device is needed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/launch_argument.h"
#include "cli/sim_request.h"
#include "gpuforge/device/launch.h"

namespace gpuforge::cli {

struct RunRequest {
  std::filesystem::path file;
  std::string kernel;  // empty: the only one
  device::LaunchConfig config;
  std::vector<LaunchArgument> arguments;
  std::vector<std::optional<std::filesystem::path>> saves;  // per argument
  int repeat = 1;
  std::uint64_t seed = 0;
  bool uses_seed = false;
  SimRequest sim;
};

// "4", "4,2" or "4,2,1", every extent at least 1.
device::Dim3 parse_dim3(std::string_view who, std::string_view text);

// Files named in arguments are read. Mistakes are invalid_argument; files that cannot be read, io or parse.
RunRequest read_run_request(const Invocation& invocation);

}  // namespace gpuforge::cli
