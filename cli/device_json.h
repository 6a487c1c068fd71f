// A device as JSON, the same in every document.
#pragma once

#include "gpuforge/base/json.h"
#include "gpuforge/device/open_device.h"

namespace gpuforge::cli {

Json device_json(const device::DeviceFacts& facts);
Json device_json(const device::DeviceListing& listing);

}  // namespace gpuforge::cli
