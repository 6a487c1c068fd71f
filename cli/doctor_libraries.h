// doctor's findings about NVIDIA's libraries, through probes.
#pragma once

#include "cli/finding.h"
#include "cli/session.h"

namespace gpuforge::cli {

// Driver, GPUs, NVRTC, CUDA's headers, cuBLASLt and the self-test, in that order.
Findings check_libraries(Session& session);

}  // namespace gpuforge::cli
