// What became of a workload: tasks, partitions, decisions, every piece that ran; as a value, as JSON, and as
// a trace for Perfetto.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpuforge/base/json.h"
#include "gpuforge/base/trace.h"
#include "gpuforge/sched/scheduler.h"
#include "gpuforge/sched/workload.h"

namespace gpuforge::sched {

struct TaskReport {
  TaskId id;
  TaskStatus status;
  std::vector<double> latencies_us;  // of its requests, from coming to done, in order
};

struct PieceReport {
  TaskId id;
  double start_us = 0;
  double duration_us = 0;
};

struct RunReport {
  std::string workload;
  std::string device;  // "simulated", or what ran it
  double end_us = 0;
  double used_us = 0;             // device time of all pieces
  std::vector<TaskReport> tasks;  // in the order of the file
  std::vector<PartitionStatus> partitions;
  std::vector<Decision> decisions;
  std::uint64_t decisions_made = 0;  // more than are kept where there were very many
  std::vector<PieceReport> pieces;
};

TaskNames names_of(const RunReport& report);

// Nearest rank; 0 of none. `part` is 0.5 for the median.
double percentile(std::vector<double> values, double part);

Json to_json(const RunReport& report, bool with_decisions);
std::vector<TraceEvent> trace_events(const RunReport& report);

// A sentence for each expectation of the workload that was not met, starting with its file and line.
std::vector<std::string> unmet(const Workload& workload, const RunReport& report);

}  // namespace gpuforge::sched
