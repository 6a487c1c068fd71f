// A report with one measured and one failed row. Included by tests alone.
#pragma once

#include "cli/bench_report.h"

namespace gpuforge::cli {

inline BenchReport report_for_tests(double p50_ms = 0.5) {
  BenchReport report;
  report.device.name = "cuda:0";
  report.device.product = "Test <GPU>";
  report.device.kind = device::DeviceKind::cuda;
  lab::BenchResult good;
  good.which.op = "sum";
  good.which.variant = "best";
  good.which.problem.shape = {1024, 1024};
  good.which.problem.dtype = DType::f16;
  good.cost = {2e6, 2e3, 1e6};
  good.measurement.emplace();
  good.measurement->method = "graph";
  good.measurement->samples = {{p50_ms, p50_ms}};
  good.measurement->summary = lab::summarize(good.measurement->samples[0]);
  good.ceiling = lab::Ceiling{{1, 0}, 2e6, 2 * good.gb_per_s(), "move"};
  lab::BenchResult failed = good;
  failed.which.variant = "naive";
  failed.failure = "2 of 3 elements of out are wrong, \"far\"";
  failed.measurement.reset();
  failed.ceiling.reset();
  report.rows = {{good, {}}, {failed, {}}};
  return report;
}

}  // namespace gpuforge::cli
