#include "gpuforge/sched/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/sched/simulate.h"

namespace gpuforge::sched {
namespace {

RunReport two_tasks() {
  return simulate(read_workload(
      "device: {memory: 4GiB}\n"
      "tasks:\n"
      "  - {name: served, class: guaranteed, memory: 1GiB, bandwidth: 0.3, every: 5ms, requests: 4,\n"
      "     kernels: [{spin: 1ms}]}\n"
      "  - {name: hog, memory: 4GiB, kernels: [{spin: 2ms, count: 6}]}\n",
      "two.yaml"));
}

TEST(RunReports, PercentilesAreNearestRanks) {
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(percentile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(percentile({3, 1, 2}, 0.99), 3);
  EXPECT_EQ(percentile({4, 1, 3, 2}, 0.5), 2);
  EXPECT_EQ(percentile({7}, 0), 7);
}

TEST(RunReports, JsonHasTasksPartitionsAndDecisions) {
  const RunReport report = two_tasks();
  const Json json = Json::parse(to_json(report, true).dump());
  ASSERT_EQ(json.at("tasks").as_array().size(), 2u);
  const Json& served = json.at("tasks").as_array()[0];
  EXPECT_EQ(served.at("class").as_string(), "guaranteed");
  EXPECT_EQ(served.at("requests").as_integer(), 4);
  EXPECT_EQ(served.at("state").as_string(), "completed");
  EXPECT_EQ(json.at("decisions").as_array().size(), report.decisions.size());
  const Json& limit = json.at("partitions").as_array()[0].at("limits").as_array()[1];
  EXPECT_EQ(limit.at("what").as_string(), "compute");
  EXPECT_EQ(limit.at("enforcement").as_string(), "soft");
  EXPECT_EQ(to_json(report, false).find("decisions"), nullptr);
}

TEST(RunReports, TheTraceHasEveryPieceAndDecision) {
  const RunReport report = two_tasks();
  std::size_t spans = 0;
  std::size_t instants = 0;
  for (const TraceEvent& event : trace_events(report)) {
    if (event.category == "kernel") ++spans;
    if (event.category == "decision") ++instants;
  }
  EXPECT_EQ(spans, report.pieces.size());
  EXPECT_EQ(spans, 10u);
  EXPECT_EQ(instants + 10, report.decisions.size());
  EXPECT_GT(chrome_trace(trace_events(report)).at("traceEvents").as_array().size(), 20u);
}

}  // namespace
}  // namespace gpuforge::sched
