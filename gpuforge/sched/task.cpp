#include "gpuforge/sched/task.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gpuforge/base/error.h"
#include "gpuforge/base/quantity.h"

namespace gpuforge::sched {
namespace {

constexpr std::array<std::string_view, kQosCount> kNames = {"guaranteed", "burstable", "best_effort"};
constexpr std::array<int, kQosCount> kPriorities = {100, 50, 0};

void check_share(const Task& task, std::string_view which, const Share& share) {
  for (const double value : {share.request, share.limit}) {
    GPUFORGE_CHECK(std::isfinite(value) && value >= 0 && value <= 1,
                   "sched: task {}: a {} share is a number from 0 to 1; found {}", task.name, which, value);
  }
  GPUFORGE_CHECK(share.request <= share.limit,
                 "sched: task {}: its {} request, {}, is over its limit, {}; raise the limit or ask for less",
                 task.name, which, share.request, share.limit);
  GPUFORGE_CHECK(share.limit > 0, "sched: task {}: with a {} limit of 0 it could never run", task.name,
                 which);
  GPUFORGE_CHECK((share.request == 0 || share.request >= kLeastShare) && share.limit >= kLeastShare,
                 "sched: task {}: a {} share is 0 or at least {}; found {} of {}", task.name, which,
                 kLeastShare, share.request, share.limit);
}

void check_memory(const Task& task) {
  GPUFORGE_CHECK(
      task.memory.request <= task.memory.limit,
      "sched: task {}: its memory request, {}, is over its limit, {}; raise the limit or ask for less",
      task.name, show_bytes(task.memory.request), show_bytes(task.memory.limit));
  GPUFORGE_CHECK(
      task.qos != Qos::guaranteed || task.memory.request == task.memory.limit,
      "sched: task {}: a guaranteed task has all its memory kept for it, but its request is {} and its limit "
      "{}; make them equal, or the task burstable",
      task.name, show_bytes(task.memory.request), show_bytes(task.memory.limit));
}

}  // namespace

std::string_view name(Qos qos) {
  return kNames[static_cast<std::size_t>(qos)];
}

std::optional<Qos> parse_qos(std::string_view text) {
  const auto found = std::ranges::find(kNames, text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Qos>(found - kNames.begin());
}

int priority(Qos qos) {
  return kPriorities[static_cast<std::size_t>(qos)];
}

double requested_share(const Task& task) {
  return std::max(task.compute.request, task.bandwidth.request);
}

double share_limit(const Task& task) {
  return std::min(task.compute.limit, task.bandwidth.limit);
}

void check(const Task& task) {
  GPUFORGE_CHECK(!task.name.empty(), "sched: a task has an empty name; names are how tasks are told apart");
  check_memory(task);
  check_share(task, "compute", task.compute);
  check_share(task, "bandwidth", task.bandwidth);
  GPUFORGE_CHECK(
      task.qos != Qos::best_effort || (task.memory.request == 0 && requested_share(task) == 0),
      "sched: task {}: nothing is kept for a best_effort task, so it has limits and no requests (memory {}, "
      "share {} requested); make it burstable",
      task.name, show_bytes(task.memory.request), requested_share(task));
  GPUFORGE_CHECK(requested_share(task) <= share_limit(task),
                 "sched: task {}: compute and bandwidth are both paced as device time; it requests {} of it "
                 "and is limited to {}",
                 task.name, requested_share(task), share_limit(task));
  GPUFORGE_CHECK(std::abs(task.priority) <= kHighestPriority,
                 "sched: task {}: a priority within a class is -{} to {}; found {}", task.name,
                 kHighestPriority, kHighestPriority, task.priority);
  GPUFORGE_CHECK(std::isfinite(task.arrive_us) && task.arrive_us >= 0 && task.arrive_us <= kLongestUs,
                 "sched: task {}: its arrival is 0 or later (at most {} us); found {} us", task.name,
                 kLongestUs, task.arrive_us);
  GPUFORGE_CHECK(
      !task.deadline_us ||
          (std::isfinite(*task.deadline_us) && *task.deadline_us > 0 && *task.deadline_us <= kLongestUs),
      "sched: task {}: its deadline is a time over 0 after its arrival (at most {} us); found {} us",
      task.name, kLongestUs, task.deadline_us.value_or(0));
  for (const std::string& dependency : task.after) {
    GPUFORGE_CHECK(dependency != task.name, "sched: task {} waits for itself", task.name);
  }
}

}  // namespace gpuforge::sched
