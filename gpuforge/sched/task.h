// What a task asks for, as Kubernetes has it: requests, which are kept for it, and limits, which it never
// exceeds; its class follows how much of that is a promise.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuforge::sched {

// guaranteed: what it may use is kept for it. burstable: its request is kept, the rest up to its limit is
// lent. best_effort: nothing is kept, all is lent.
enum class Qos : std::uint8_t { guaranteed, burstable, best_effort };
inline constexpr int kQosCount = 3;
std::string_view name(Qos qos);
std::optional<Qos> parse_qos(std::string_view text);
int priority(Qos qos);  // 100, 50, 0

struct MemoryAmount {
  std::uint64_t request = 0;
  std::uint64_t limit = 0;
};

inline constexpr double kLeastShare = 1e-6;  // of requests that are not 0, of limits, and of partitions

// Of the device's time, 0 to 1. Compute and bandwidth are both paced as time until compute has
// multiprocessors of its own: a task gets at least the larger of its requests while it wants it, at most the
// smaller of its limits.
struct Share {
  double request = 0;
  double limit = 1;
};

inline constexpr int kHighestPriority = 24;  // so that no priority lifts a task over its class

struct Task {
  std::string name;
  Qos qos = Qos::best_effort;
  int priority = 0;       // within the class, -24 to 24: whose turn it is in the queue
  std::string partition;  // empty: the one called "default"
  MemoryAmount memory;
  Share compute;
  Share bandwidth;
  std::vector<std::string> after;  // names; each must have completed
  double arrive_us = 0;
  std::optional<double> deadline_us;  // after its arrival: ended then, at the next kernel boundary
};

// invalid_argument naming the task, what was expected and what was found.
void check(const Task& task);

// That tasks submitted together have different names, wait only for each other or for what was
// `known_before`, and not in a circle: else an invalid_argument with the nearest name or the circle.
void check_dependencies(std::span<const Task> tasks,
                        const std::function<bool(const std::string&)>& known_before = {});

double requested_share(const Task& task);
double share_limit(const Task& task);

// Names a task once in the life of a Scheduler, also after it was forgotten.
struct TaskId {
  std::uint32_t index = UINT32_MAX;
  std::uint32_t generation = 0;
  bool valid() const { return index != UINT32_MAX; }
  friend bool operator==(TaskId, TaskId) = default;
};

}  // namespace gpuforge::sched
