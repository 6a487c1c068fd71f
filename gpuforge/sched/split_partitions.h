// Multiprocessors for partitions, where a device splits them. Not installed.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "gpuforge/device/device.h"
#include "gpuforge/sched/scheduler.h"

namespace gpuforge::sched {

struct PartitionParts {
  std::map<std::string, std::shared_ptr<device::ComputePart>, std::less<>>
      parts;  // by partition; none: not split
  // Of the task's partition; nothing: all multiprocessors.
  device::ComputePart* of(const Task& task) const;
};

// Completes the partitions, and writes into each what the device gave it, or why nothing.
PartitionParts split_partitions(device::Device& device, SchedulerConfig& config);

}  // namespace gpuforge::sched
