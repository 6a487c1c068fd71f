// Why an access costs what it costs, in words. Not installed.
#pragma once

#include "gpuforge/layout/access.h"

namespace gpuforge::layout {

// Fills in the threads that wait for one another.
void find_conflict(WarpAccess& access);
std::string sentence_of(const WarpAccess& access);

}  // namespace gpuforge::layout
