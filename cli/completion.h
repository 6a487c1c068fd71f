// Shell completion scripts, made from the tables.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/command.h"

namespace gpuforge::cli {

std::string bash_completion(std::span<const Command* const> commands);
std::string zsh_completion(std::span<const Command* const> commands);
std::string fish_completion(std::span<const Command* const> commands);

}  // namespace gpuforge::cli
