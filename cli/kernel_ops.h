// What the arguments of check, bench, tune and profile stand for: ops of the library, and kernel files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/session.h"
#include "gpuforge/lab/op.h"

namespace gpuforge::cli {

// An op's name, or FILE.cu, FILE.ptx, FILE.yaml (lab/kernel_file.h); all ops of the library for none. Each
// once, in that order; two files whose kernels would have one name are an invalid_argument.
std::vector<lab::Op> resolve_ops(const Session& session, std::span<const std::string> arguments);

}  // namespace gpuforge::cli
