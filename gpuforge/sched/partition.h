// Parts of a device that tasks are kept apart in.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuforge::sched {

inline constexpr std::string_view kDefaultPartition = "default";

struct Partition {
  std::string name;
  std::uint64_t memory_bytes = 0;
  double compute = 1;  // shares of the device, 0 to 1
  double bandwidth = 1;
  int streams = 16;  // tasks admitted at a time: each has a stream
  int queue = 1000;  // tasks waiting for room at a time
  // What the device gave for `compute`: multiprocessors of its own, of so many. 0: the partitions share all
  // of them in time, for the reason there may be.
  int multiprocessors = 0;
  int of_multiprocessors = 0;
  std::string shared_because;
};

// How sure a limit is. Hard: cannot be exceeded. Soft: kept on average by pacing at kernel boundaries, and
// given to others while it is not used.
enum class Enforcement { hard, soft };
std::string_view name(Enforcement enforcement);

struct Limit {
  std::string_view what;
  std::string value;
  Enforcement enforcement = Enforcement::hard;
  std::string how;
};

// What holds a partition's tasks, each limit with how.
std::vector<Limit> limits(const Partition& partition);
// The share of device time that pacing gives it: the smaller of the two.
double paced_share(const Partition& partition);
// Of the device, what an hour of its multiprocessors is: 1 where it has all in turn.
double part_of_device(const Partition& partition);

// The partitions with "default" added where it is not among them, which has what the others leave. No two of
// a name, no share out of 0..1, no sum over the device: else invalid_argument.
std::vector<Partition> complete_partitions(std::span<const Partition> partitions, std::uint64_t memory_bytes);

}  // namespace gpuforge::sched
