// The program without its main(): arguments in, exit code out.
#pragma once

#include <span>
#include <string>

namespace gpuforge::cli {

int run_program(std::span<const std::string> arguments);

}  // namespace gpuforge::cli
