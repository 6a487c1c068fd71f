// The device `cpu`: host memory, ordered streams on threads, events, enqueued host functions, graphs of
// those. It runs no kernels: ops bring a host implementation instead.
#pragma once

#include <memory>

#include "gpuforge/device/device.h"

namespace gpuforge::device {

std::shared_ptr<Device> make_cpu_device();

}  // namespace gpuforge::device
