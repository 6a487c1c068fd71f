#include "gpuforge/context/profile_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpuforge {
namespace {

using testing::HasSubstr;

ProfileReport example() {
  ProfileReport report;
  report.device = "cuda:0";
  report.clock_error_us = 6;
  report.spans = {{"softmax", "kernel", "stream 1", 100, 10, 2e6, 1e6},
                  {"weights", "copy", "copies to the device", 105, 50, 0, 1e6},
                  {"urgent", "copy", "copies to the device", 120, 5, 0, 100},
                  {"softmax", "kernel", "stream 1", 200, 30, 2e6, 1e6}};
  report.decisions = {{"admit", "task a", 99, Json::object().set("why", "room")}};
  report.snapshots = {{"before", 90, 1 << 20, 8 << 20, {{"arrays", 100}, {"cache", 5}}},
                      {"after", 1e6 + 90, 3 << 20, 8 << 20, {{"cache", 5}, {"work", std::size_t{2} << 20}}}};
  return report;
}

TEST(ProfileReport, TotalsByName) {
  const std::vector<ProfileTotal> totals = example().totals();
  ASSERT_EQ(totals.size(), 3u);
  EXPECT_EQ(totals[0].name, "weights");
  EXPECT_EQ(totals[1].name, "softmax");
  EXPECT_EQ(totals[1].count, 2u);
  EXPECT_DOUBLE_EQ(totals[1].total_us, 40);
  EXPECT_DOUBLE_EQ(totals[1].least_us, 10);
  EXPECT_DOUBLE_EQ(totals[1].most_us, 30);
  EXPECT_DOUBLE_EQ(totals[1].tflops(), 4e6 / 40e-6 / 1e12);
  EXPECT_DOUBLE_EQ(totals[1].gbps(), 2e6 / 40e-6 / 1e9);
}

TEST(ProfileReport, MemoryDifference) {
  const ProfileReport report = example();
  const MemoryDifference change = difference(report.snapshots[0], report.snapshots[1]);
  EXPECT_EQ(change.used_bytes, 2 << 20);
  EXPECT_EQ(change.bytes_by_tag, (std::map<std::string, std::int64_t>{{"arrays", -100}, {"work", 2 << 20}}));
  EXPECT_EQ(to_text(change), "before to after: +2.00 MiB in 1.000 s, arrays -0.00 MiB, work +2.00 MiB");
}

TEST(ProfileReport, IsPrintedAndWritten) {
  ProfileReport report = example();
  report.dropped = 2;
  report.dropped_why = "in a capture";
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("softmax                          kernel         2       0.040      20.00"));
  EXPECT_THAT(text, HasSubstr("0.10 TFLOP/s"));
  EXPECT_THAT(text, HasSubstr("memory before to after: +2.00 MiB"));
  EXPECT_THAT(text, HasSubstr("2 ranges have no time: in a capture"));
  const Json json = Json::parse(to_json(report).dump());
  EXPECT_EQ(json.at("totals").as_array().size(), 3u);
  EXPECT_EQ(json.at("spans").as_array()[0].at("start_us").as_double(), 100);
  EXPECT_EQ(json.at("memory").as_array()[0].at("bytes_by_tag").at("arrays").as_integer(), 100);
  EXPECT_EQ(json.at("dropped_why").as_string(), "in a capture");
  EXPECT_EQ(json.at("clock_error_us").as_double(), 6);
}

TEST(ProfileReport, BecomesATraceWhereOverlappingCopiesHaveTheirOwnLines) {
  const std::vector<TraceEvent> events = trace_events(example());
  ASSERT_EQ(events.size(), 7u);
  EXPECT_EQ(events[1].track, "copies to the device");
  EXPECT_EQ(events[2].track, "copies to the device, line 2");
  EXPECT_EQ(events[4].kind, TraceEvent::Kind::instant);
  EXPECT_EQ(events[4].start_us, 99);
  EXPECT_EQ(events[5].kind, TraceEvent::Kind::counter);
  EXPECT_DOUBLE_EQ(events[6].value, 3);
  EXPECT_THAT(chrome_trace(events).dump(), HasSubstr("traceEvents"));
}

}  // namespace
}  // namespace gpuforge
