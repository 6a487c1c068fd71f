// Virtual memory of devices that work on the host: addresses by mmap, physical blocks as pieces of a file
// that lives in memory alone. Not installed.
#pragma once

#include <memory>
#include <string>

#include "gpuforge/device/host_memory.h"
#include "gpuforge/device/virtual_memory.h"

namespace gpuforge::device {

// nullptr where the system has no such files. What it makes keeps `memory`, which counts the blocks and is
// told what is mapped.
std::unique_ptr<VirtualMemory> make_host_virtual_memory(std::shared_ptr<HostMemory> memory);

}  // namespace gpuforge::device
