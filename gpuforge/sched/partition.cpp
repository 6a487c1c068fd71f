#include "gpuforge/sched/partition.h"

#include <algorithm>
#include <cmath>

#include "gpuforge/base/error.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/sched/task.h"

namespace gpuforge::sched {
namespace {

constexpr double kRounding = 1e-9;  // 0.1 + 0.2 + 0.7 is a whole device

void check_one(const Partition& partition) {
  GPUFORGE_CHECK(!partition.name.empty(), "sched: a partition has an empty name");
  for (const auto& [what, share] :
       {std::pair("compute", partition.compute), std::pair("bandwidth", partition.bandwidth)}) {
    GPUFORGE_CHECK(std::isfinite(share) && share >= kLeastShare && share <= 1,
                   "sched: partition {}: its {} share is a number from {} to 1; found {}", partition.name,
                   what, kLeastShare, share);
  }
  GPUFORGE_CHECK(partition.streams >= 1, "sched: partition {}: at least 1 stream is needed; found {}",
                 partition.name, partition.streams);
  GPUFORGE_CHECK(partition.queue >= 0, "sched: partition {}: its queue has 0 places or more; found {}",
                 partition.name, partition.queue);
}

}  // namespace

std::string_view name(Enforcement enforcement) {
  return enforcement == Enforcement::hard ? "hard" : "soft";
}

double paced_share(const Partition& partition) {
  return std::min(partition.compute, partition.bandwidth);
}

double part_of_device(const Partition& partition) {
  return partition.multiprocessors == 0
             ? 1.0
             : static_cast<double>(partition.multiprocessors) / std::max(partition.of_multiprocessors, 1);
}

std::vector<Limit> limits(const Partition& partition) {
  Limit compute{"compute", format_text("{:.3g}", partition.compute), Enforcement::soft,
                "pacing by measured time"};
  Limit bandwidth{"bandwidth", format_text("{:.3g}", partition.bandwidth), Enforcement::soft, compute.how};
  if (partition.multiprocessors > 0) {
    compute.enforcement = Enforcement::hard;
    compute.how = format_text("{} of {} multiprocessors, which is {:.3f}", partition.multiprocessors,
                              partition.of_multiprocessors, part_of_device(partition));
    bandwidth.how = "what its multiprocessors ask for";
  } else if (!partition.shared_because.empty()) {
    compute.how += "; " + partition.shared_because;
  }
  return {
      {"memory", show_bytes(partition.memory_bytes), Enforcement::hard, "reservations never exceed it"},
      std::move(compute),
      std::move(bandwidth),
      {"streams", format_text("{}", partition.streams), Enforcement::hard, "admission"},
      {"queue", format_text("{}", partition.queue), Enforcement::hard, "admission"},
  };
}

std::vector<Partition> complete_partitions(std::span<const Partition> partitions,
                                           std::uint64_t memory_bytes) {
  std::vector<Partition> all(partitions.begin(), partitions.end());
  std::uint64_t memory_left = memory_bytes;
  double compute = 0;
  double bandwidth = 0;
  bool has_default = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Partition& partition = all[i];
    check_one(partition);
    for (std::size_t j = 0; j < i; ++j) {
      GPUFORGE_CHECK(all[j].name != partition.name, "sched: there are two partitions called {}",
                     partition.name);
    }
    has_default = has_default || partition.name == kDefaultPartition;
    GPUFORGE_CHECK(partition.memory_bytes <= memory_left,
                   "sched: partition {}: a quota of {} was asked for, but the others leave {} of {}",
                   partition.name, show_bytes(partition.memory_bytes), show_bytes(memory_left),
                   show_bytes(memory_bytes));
    memory_left -= partition.memory_bytes;
    compute += partition.compute;
    bandwidth += partition.bandwidth;
  }
  GPUFORGE_CHECK(compute <= 1 + kRounding && bandwidth <= 1 + kRounding,
                 "sched: the partitions together have a compute share of {:.6g} and a bandwidth share of "
                 "{:.6g}; each is at most 1",
                 compute, bandwidth);
  // What is left; a whole device where nobody asked. Without anything left there is no default partition.
  if (!has_default && compute < 1 - kLeastShare && bandwidth < 1 - kLeastShare) {
    all.push_back({.name = std::string(kDefaultPartition),
                   .memory_bytes = memory_left,
                   .compute = 1 - compute,
                   .bandwidth = 1 - bandwidth});
  }
  return all;
}

}  // namespace gpuforge::sched
