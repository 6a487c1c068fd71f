// The device `cuda:N`: NVIDIA's driver API on the primary context.
#pragma once

#include <memory>
#include <string>

#include "gpuforge/cuda/driver.h"
#include "gpuforge/device/device.h"

namespace gpuforge::device {

inline constexpr int kOldestSm = 80;
// "cuda:0: Tesla T4 has SM 75, and SM 80 or newer is needed ...": the sentence for a GPU that is too old.
std::string sm_too_old(const DeviceFacts& facts);

// SM below 80, or no such ordinal: unavailable, with a sentence. Retains the primary context.
std::shared_ptr<Device> make_cuda_device(std::shared_ptr<const cuda::Driver> driver, int ordinal);

// Facts of GPU `ordinal` without making a context (any SM version), for listings.
DeviceFacts cuda_device_facts(const cuda::Driver& driver, int ordinal);

}  // namespace gpuforge::device
