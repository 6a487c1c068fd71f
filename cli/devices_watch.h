// gpuforge devices --watch: what the devices are doing, look after look.
#pragma once

#include "cli/session.h"

namespace gpuforge::cli {

// `looks` of 0: until interrupted. With --json a line for each look.
int watch_devices(Session& session, double every_s, std::int64_t looks);

}  // namespace gpuforge::cli
