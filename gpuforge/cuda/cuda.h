// Room cuda: NVIDIA's libraries without linking any of them. Each is found on the machine at run time
// (library.h has the search order), its functions stand one to a line in a table (call.h), every call is
// checked, and every object has an owner whose destructor survives driver shutdown (handle.h).
//   driver.h      the driver API (libcuda)          driver_types.h  our own declarations of its types
//   nvrtc.h       the run-time compiler             cublas_lt.h     presence and version only, so far
// Building needs no CUDA headers; where they are installed, headers_test.cpp compares ours with them.
// Not here: what a device, a stream or a kernel means to the rest of the program (device/, jit/). The room
// knows no policy: it neither picks GPUs nor refuses old ones.
#pragma once

#include "gpuforge/cuda/call.h"
#include "gpuforge/cuda/cublas_lt.h"
#include "gpuforge/cuda/driver.h"
#include "gpuforge/cuda/driver_types.h"
#include "gpuforge/cuda/handle.h"
#include "gpuforge/cuda/library.h"
#include "gpuforge/cuda/nvrtc.h"
