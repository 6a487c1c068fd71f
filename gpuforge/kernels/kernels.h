// The kernels and device headers compiled into the program. Room kernels holds device headers shared by
// several kernels; a kernel of one op lives in that op's folder. Only NVRTC reads .cu and .cuh files.
#pragma once

#include <span>

#include "gpuforge/base/embedded.h"

namespace gpuforge {

std::span<const EmbeddedFile> embedded_kernels();

}  // namespace gpuforge
