// Where a task of a workload stands: which kernel comes next, whose request it belongs to, how long requests
// took. The same for the simulation and for a device. Not installed.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "gpuforge/sched/workload.h"

namespace gpuforge::sched {

struct KernelCall {
  const KernelStep* step = nullptr;
  double scale = 1;  // by `vary`
};

class Script {
 public:
  // `task` outlives it. The same seed and index make the same calls.
  Script(const WorkloadTask& task, std::uint64_t seed, std::uint64_t index)
      : task_(&task), seed_(seed), index_(index) {}

  void arrived(double at_us);
  bool has_arrived() const { return arrived_; }
  // Nothing when no request has come yet.
  std::optional<KernelCall> next(double now_us) const;
  // The kernel that `next` told is done.
  After done(double now_us);
  // When a request comes next; infinity: never, or not by the clock.
  double next_request_us() const;
  const std::vector<double>& latencies_us() const { return latencies_us_; }

 private:
  const WorkloadTask* task_;
  std::uint64_t seed_;
  std::uint64_t index_;
  bool arrived_ = false;
  std::int64_t request_ = 0;
  double request_came_us_ = 0;
  std::size_t step_ = 0;
  int repeat_ = 0;
  std::uint64_t calls_ = 0;
  std::vector<double> latencies_us_;
};

}  // namespace gpuforge::sched
