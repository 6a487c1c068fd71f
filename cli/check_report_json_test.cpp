#include "cli/check_report_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gpuforge::cli {
namespace {

TEST(CheckReportJson, ComesBackAsItWas) {
  lab::CheckReport report;
  report.faults = {"input x was changed", "a \"quoted\" thing"};
  report.device_lost = true;
  lab::OutputReport output;
  output.name = "out";
  output.shape = {3, 5};
  output.comparison = {.elements = 15,
                       .wrong = 2,
                       .worst = 7,
                       .got = std::numeric_limits<double>::quiet_NaN(),
                       .want = 0.1,
                       .allowed = 1e-300,
                       .worst_ratio = std::numeric_limits<double>::infinity(),
                       .norm_error = 0.25,
                       .norm_allowed = 0.125,
                       .norm_exceeded = true};
  output.map = {.rows = 3, .columns = 5, .cell_rows = 1, .cell_columns = 2, .lines = {"..#", "+..", "###"}};
  report.outputs.push_back(output);
  const lab::CheckReport back = report_of(Json::parse(report_json(report).dump()));
  EXPECT_EQ(back.faults, report.faults);
  EXPECT_TRUE(back.device_lost);
  ASSERT_EQ(back.outputs.size(), 1u);
  const lab::OutputReport& one = back.outputs[0];
  EXPECT_EQ(one.name, "out");
  EXPECT_EQ(one.shape, (Shape{3, 5}));
  EXPECT_EQ(one.comparison.wrong, 2u);
  EXPECT_EQ(one.comparison.worst, 7u);
  EXPECT_TRUE(std::isnan(one.comparison.got));
  EXPECT_EQ(one.comparison.want, 0.1);
  EXPECT_EQ(one.comparison.allowed, 1e-300);
  EXPECT_EQ(one.comparison.worst_ratio, output.comparison.worst_ratio);
  EXPECT_EQ(one.comparison.norm_error, 0.25);
  EXPECT_EQ(one.comparison.norm_allowed, 0.125);
  EXPECT_TRUE(one.comparison.norm_exceeded);
  EXPECT_EQ(one.map.cell_columns, 2);
  EXPECT_EQ(one.map.lines, output.map.lines);
}

}  // namespace
}  // namespace gpuforge::cli
