#include "cli/bench_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/bench_report_for_tests.h"
#include "cli/svg_plot.h"

namespace gpuforge::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(BenchPage, StandsAloneAndHasItsPlots) {
  BenchRequest request;
  request.suite = "smoke";
  const std::vector<HistoryPoint> earlier = {
      {"2026-01-01T00:00:00Z", "abc", "sum best f16 1024x1024", 0.6, 3}};
  const std::string page = bench_page(request, report_for_tests(), earlier);
  EXPECT_THAT(page, AllOf(HasSubstr("gpuforge bench: smoke"), HasSubstr("Bandwidth against size"),
                          HasSubstr("Roofline"), HasSubstr("<title>History"), HasSubstr("this run"),
                          HasSubstr("ceiling, 1 read : 0 written"),
                          HasSubstr("<th class=\"number\">median</th>"), HasSubstr("<th>op</th>")));
  EXPECT_THAT(page, AllOf(HasSubstr("Test &lt;GPU&gt;"), HasSubstr("&quot;far&quot;"), HasSubstr("FAILED")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("src=")), Not(HasSubstr("@import"))));
}

TEST(BenchPage, ShowsLengthsWhereAllSizesAreTheSame) {
  BenchReport report = report_for_tests();
  report.rows.resize(1);
  EXPECT_THAT(bench_page({}, report, {}), HasSubstr("Bandwidth against size"));
  report.rows.push_back(report.rows.front());
  report.rows[1].result.which.problem.shape = {512, 2048};
  EXPECT_THAT(bench_page({}, report, {}), AllOf(HasSubstr("Bandwidth against the length of the last axis"),
                                                HasSubstr(">1024</text>"), HasSubstr(">2048</text>")));
}

TEST(BenchPage, WithoutTimesSaysThatThereAreNone) {
  BenchReport report = report_for_tests();
  report.rows.erase(report.rows.begin());
  report.device.kind = device::DeviceKind::sim;
  const std::string page = bench_page({}, report, {});
  EXPECT_THAT(page, AllOf(HasSubstr("It has no times"), HasSubstr("No roofline"), Not(HasSubstr("<svg"))));
}

TEST(SvgPlot, LeavesOutWhatAnAxisCannotShow) {
  EXPECT_EQ(svg({}), "");
  EXPECT_EQ(svg({.log_x = true, .series = {{.name = "a", .points = {{0, 1, ""}}}}}), "");
  const std::string one =
      svg({.title = "t", .log_x = true, .series = {{.name = "a<b", .points = {{8, 1, "p"}, {0, 1, ""}}}}});
  EXPECT_THAT(one, AllOf(HasSubstr("a&lt;b"), HasSubstr("<title>p</title>"), Not(HasSubstr("nan")),
                         Not(HasSubstr("inf"))));
  const std::string flat = svg({.series = {{.name = "a", .points = {{0, 0, ""}, {0, 0, ""}}}}});
  EXPECT_THAT(flat, AllOf(HasSubstr("<circle"), Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
}

TEST(BenchTable, HasTheColumnsThatHaveSomethingInThem) {
  BenchReport report = report_for_tests();
  const std::string text = bench_table(report).text();
  EXPECT_THAT(text, AllOf(HasSubstr("% of ceiling"), HasSubstr("TFLOP/s"), HasSubstr("500.00 us"),
                          HasSubstr("50.0")));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("SM MHz")), Not(HasSubstr("sectors")), Not(HasSubstr("baseline"))));
  EXPECT_THAT(bench_csv(report), HasSubstr("\"2 of 3 elements of out are wrong, \"\"far\"\"\""));
  report.rows[0].result.measurement->clock = lab::ClockReport{1200, 1100, 1300, 1980};
  EXPECT_THAT(bench_table(report).text(), HasSubstr("1200 throttled"));
  EXPECT_THAT(bench_table(report).markdown(), HasSubstr("|---:"));
}

}  // namespace
}  // namespace gpuforge::cli
