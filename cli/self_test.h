// A small kernel through every stage: compiled, launched on the GPU or in the simulator, and compared with a
// plain host loop.
#pragma once

#include <span>
#include <string>

#include "cli/session.h"
#include "gpuforge/base/embedded.h"

namespace gpuforge {
std::span<const EmbeddedFile> cli_kernels();  // generated
}

namespace gpuforge::cli {

struct SelfTestResult {
  std::string device;  // "cuda:0", "sim"
  std::string arch;    // "sm_80"
  double compile_ms = 0;
  bool from_cache = false;
  std::int64_t elements = 0;
  std::int64_t mismatches = 0;
};

// Errors are the library's.
SelfTestResult run_self_test(const Session& session);

}  // namespace gpuforge::cli
