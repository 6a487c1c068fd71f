// From a name to a Device, and the rule that picks the best one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/cuda/library.h"
#include "gpuforge/device/device.h"
#include "gpuforge/device/sim_device.h"

namespace gpuforge::device {

// What `gpuforge devices` lists: usable or not, and why not.
struct DeviceListing {
  DeviceFacts facts;
  bool usable = false;
  std::string reason;  // why not usable, in a sentence
};
std::vector<DeviceListing> list_devices(const cuda::SearchOptions& search);

// "cuda", "cuda:1", "sim", "sim:sm_86", "cpu". `sim_options` are for the simulator alone. An unknown name is
// invalid_argument with the known ones; a device this machine lacks is unavailable with what is missing and
// how to get it.
std::shared_ptr<Device> open_device(std::string_view device_name, const cuda::SearchOptions& search,
                                    const SimOptions& sim_options = {});

// The device an array or model takes when none is named: cuda:0, else cpu. `fallback` gets the one line to
// report when that is not cuda:0.
std::shared_ptr<Device> open_default_device(const cuda::SearchOptions& search, std::string* fallback);
// The same for who runs kernels: cuda:0, else sim.
std::shared_ptr<Device> open_default_kernel_device(const cuda::SearchOptions& search, std::string* fallback,
                                                   const SimOptions& sim_options = {});

}  // namespace gpuforge::device
