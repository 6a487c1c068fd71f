#include "gpuforge/sched/split_partitions.h"

#include "gpuforge/base/error.h"

namespace gpuforge::sched {
namespace {

// Why pacing must do it, whatever the device can; empty: it need not.
std::string paced_because(const SchedulerConfig& config) {
  for (const Partition& partition : config.partitions) {
    if (partition.bandwidth >= partition.compute) continue;
    return format_text("partition {} is to have less bandwidth than compute, which only pacing keeps",
                       partition.name);
  }
  return "";
}

}  // namespace

device::ComputePart* PartitionParts::of(const Task& task) const {
  const auto found =
      parts.find(task.partition.empty() ? kDefaultPartition : std::string_view(task.partition));
  return found == parts.end() ? nullptr : found->second.get();
}

PartitionParts split_partitions(device::Device& device, SchedulerConfig& config) {
  PartitionParts result;
  config.partitions = complete_partitions(config.partitions, config.memory_bytes);
  if (config.partitions.size() < 2) return result;  // one has the device to itself
  std::vector<double> shares;
  for (const Partition& partition : config.partitions) shares.push_back(std::min(partition.compute, 1.0));
  std::string because = paced_because(config);
  if (because.empty()) {
    try {
      auto parts = device.split_compute(shares);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        config.partitions[i].multiprocessors = parts[i]->multiprocessors();
        config.partitions[i].of_multiprocessors = device.facts().multiprocessors;
        result.parts[config.partitions[i].name] = std::move(parts[i]);
      }
      return result;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      because = error.message();
    }
  }
  for (Partition& partition : config.partitions) partition.shared_because = because;
  return result;
}

}  // namespace gpuforge::sched
