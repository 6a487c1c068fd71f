// How `sched` shows what became of a workload.
#pragma once

#include <string>
#include <vector>

#include "gpuforge/sched/run_report.h"

namespace gpuforge::cli {

// The tasks in a table that fits `columns` where names allow, those that did not complete with their reason,
// the partitions with how sure each limit is, and how often each decision was made.
std::string sched_text(const sched::RunReport& report, int columns);
// A line for each decision, in order.
std::string decisions_text(const sched::RunReport& report, int columns);

}  // namespace gpuforge::cli
