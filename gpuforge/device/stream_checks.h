// Argument checks every device's streams share. Not installed.
#pragma once

#include <cstddef>
#include <string_view>

#include "gpuforge/device/device.h"

namespace gpuforge::device {

// A pattern of 1, 2 or 4 bytes at an address that is a multiple of it.
void check_fill(Address to, std::size_t pattern_bytes, std::string_view device_name);

}  // namespace gpuforge::device
