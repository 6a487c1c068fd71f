// The results of `bench` as one page that needs nothing else: a table, bandwidth against size, the roofline,
// and what earlier runs gave.
#pragma once

#include <string>
#include <vector>

#include "cli/bench_history.h"
#include "cli/bench_report.h"

namespace gpuforge::cli {

std::string bench_page(const BenchRequest& request, const BenchReport& report,
                       const std::vector<HistoryPoint>& earlier);

}  // namespace gpuforge::cli
