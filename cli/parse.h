// The one parser of command lines. --flag=value and --flag value, -fvalue and -f value, switches joined
// (-qv), options anywhere, `--` ends them, common options before the verb too.
#pragma once

#include <span>
#include <string>

#include "cli/command.h"

namespace gpuforge::cli {

// Unknown verbs, options and values are an invalid_argument with the nearest known one; so are a missing or
// surplus value and an option given twice that may stand once. With --help anywhere the positionals are not
// checked.
Invocation parse_command_line(std::span<const std::string> arguments,
                              std::span<const Command* const> commands);

}  // namespace gpuforge::cli
