// A driver that lacks most functions: what an old installation looks like. Version from FAKE_CUDA_VERSION.
#include <cstdlib>

#include "gpuforge/cuda/driver_types.h"

using gpuforge::cuda::Result;

extern "C" {

Result cuInit(unsigned) {
  return Result::success;
}

Result cuDriverGetVersion(int* version) {
  const char* const text = std::getenv("FAKE_CUDA_VERSION");
  *version = text == nullptr ? 11040 : std::atoi(text);
  return Result::success;
}

Result cuDeviceGetCount(int* count) {
  *count = 1;
  return Result::success;
}
}
