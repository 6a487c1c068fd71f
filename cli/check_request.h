// What was asked of `gpuforge check`.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "cli/command.h"
#include "gpuforge/lab/check_plan.h"

namespace gpuforge::cli {

struct CheckArguments {
  std::vector<std::string> ops;  // empty: all
  lab::CheckRequest request;
  std::size_t failures = 3;             // shown in full
  bool isolate = true;                  // kernel files, each in a process of its own
  std::chrono::seconds time_limit{60};  // of a case there
};
// Mistakes are invalid_argument.
CheckArguments read_check_arguments(const Invocation& invocation);

// Lists with commas, and options given more than once.
std::vector<DType> read_dtypes(const Invocation& invocation, std::string_view verb);
std::vector<Shape> read_shapes(const Invocation& invocation);
// --set NAME=VALUE
lab::Options read_settings(const Invocation& invocation, std::string_view verb);
// --seed N, or "random".
std::uint64_t read_seed(const Invocation& invocation, std::string_view verb);

}  // namespace gpuforge::cli
