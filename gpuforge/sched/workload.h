// Workload files: tasks described by the kernels they run, the device they share, and what is expected of it
// all. YAML that people write; docs/guide/scheduler.md has the format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/sched/scheduler.h"

namespace gpuforge::sched {

// A kernel, `count` times; between any two the scheduler may give the device to somebody else.
struct KernelStep {
  enum class Kind : std::uint8_t { spin, stream, kernel };

  Kind kind = Kind::spin;
  double duration_us = 0;   // spin: how long it takes; kernel: in a simulation, 0: not known
  std::uint64_t bytes = 0;  // stream: how many are read, and as many written
  double vary = 0;          // times 1 - vary to 1 + vary, by the seed
  int count = 1;
  int waves = 1;        // spin on a GPU: of blocks, one after the other
  std::string failure;  // what it fails with; empty: it does not
  std::string kernel;   // kernel: an op or a file, as whoever makes it knows it (run_workload.h)
  std::string shape;
  std::string dtype;    // empty: its first
  std::string variant;  // empty: its first
  int line = 0;
};

struct WorkloadTask {
  Task task;
  std::vector<KernelStep> steps;  // of one request
  std::int64_t requests = 1;
  std::optional<double> every_us;   // a request comes this long after the one before; else when that is done
  std::optional<double> cancel_us;  // when somebody cancels it
  int line = 0;
};

// What must be true in the end; members that are not set ask for nothing.
struct Expectation {
  std::string task;
  std::optional<TaskState> state;
  std::optional<double> share;
  double within = 0.03;
  std::optional<double> p99_at_most_us;
  std::optional<double> ended_at_most_us;
  std::string message;  // is part of the task's
  std::optional<DecisionKind> decision;
  std::optional<Reason> reason;
  std::optional<std::int64_t> times;  // of that decision; not given: at least once
  std::vector<std::string> order;     // in which these ended
  std::string where;                  // "workload.yaml:12"
};

struct Workload {
  std::string name;
  SchedulerConfig config;
  bool knows_memory = false;      // the file says how much the device has
  double stream_gb_per_s = 1000;  // what a simulated device moves
  std::uint64_t seed = 1;
  std::optional<double> until_us;  // whoever has not ended then is cancelled
  std::vector<WorkloadTask> tasks;
  std::vector<Expectation> expectations;
};

// parse Errors start with file and line. Circles, unknown names and what no task can be are found here.
Workload read_workload(std::string_view text, std::string_view name);

}  // namespace gpuforge::sched
