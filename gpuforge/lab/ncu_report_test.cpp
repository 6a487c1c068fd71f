// Against tables that ncu 2025.3.1 wrote on an H200 (tests/profile, a few of their columns).
#include "gpuforge/lab/ncu_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"

namespace gpuforge::lab {
namespace {

using testing::HasSubstr;

std::string recorded(const std::string& name) {
  return read_file(std::string(GPUFORGE_SOURCE_DIR) + "/tests/profile/" + name);
}

double value(const ProfiledLaunch& launch, std::string_view group, std::string_view label) {
  const ProfiledValue& found = launch.value(group, label);
  EXPECT_TRUE(found.measured) << label;
  return found.measured ? found.measured->value : -1;
}

std::string message_of(std::string_view text) {
  try {
    read_ncu_report(text, "report.csv");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::parse);
    return error.message();
  }
  return "no error";
}

TEST(NcuReport, LaunchesOfTheRawPage) {
  const NcuReport report = read_ncu_report(recorded("row_sum_raw.csv"), "row_sum_raw.csv");
  ASSERT_EQ(report.launches.size(), 2u);
  EXPECT_FALSE(report.cut_off);
  const ProfiledLaunch& first = report.launches[0];
  EXPECT_EQ(first.id, "0");
  EXPECT_EQ(first.kernel, "row_sum");
  EXPECT_EQ(first.grid, "(512, 1, 1)");
  EXPECT_EQ(first.block, "(32, 8, 1)");
  EXPECT_EQ(first.device, "NVIDIA H200");
  EXPECT_DOUBLE_EQ(value(first, kGroupLaunch, "duration"), 8672);  // 8.672 us
  EXPECT_EQ(first.value(kGroupLaunch, "duration").measured->unit, "ns");
  EXPECT_NEAR(value(first, kGroupLaunch, "achieved occupancy"), 43.80, 0.01);
  EXPECT_EQ(value(first, kGroupLaunch, "registers"), 31);
  EXPECT_NEAR(value(first, kGroupThroughput, "memory"), 39.48, 0.01);
  EXPECT_NEAR(value(first, kGroupThroughput, "SM"), 12.95, 0.01);
  EXPECT_NEAR(value(first, kGroupPipes, "FMA"), 5.44, 0.01);
  EXPECT_NEAR(value(first, kGroupStalls, "long scoreboard"), 30.80, 0.01);
  EXPECT_EQ(value(first, kGroupStalls, "barrier"), 0);
  EXPECT_EQ(value(first, kGroupMemory, "global load requests"), 192512);  // "192,512"
  EXPECT_EQ(value(first, kGroupMemory, "global load sectors"), 512000);
  EXPECT_NEAR(value(first, kGroupMemory, "global load sectors per request"), 2.66, 0.01);
  EXPECT_DOUBLE_EQ(value(first, kGroupMemory, "DRAM read"), 16389120);  // 16.389120 Mbyte
  EXPECT_DOUBLE_EQ(value(first, kGroupMemory, "DRAM written"), 768);    // 0.768 Kbyte
  EXPECT_EQ(report.launches[1].id, "1");
}

// Every label has a metric in ncu's full set of a Hopper GPU.
TEST(NcuReport, NothingOfTheTableIsMissingInAFullReport) {
  const NcuReport report = read_ncu_report(recorded("transpose_raw.csv"), "transpose_raw.csv");
  std::set<std::pair<std::string_view, std::string_view>> labels;
  for (const ProfiledValue& each : report.launches[0].values) {
    EXPECT_TRUE(each.measured) << each.metric->group << ": " << each.metric->label;
    EXPECT_TRUE(labels.insert({each.metric->group, each.metric->label}).second) << each.metric->label;
  }
  EXPECT_EQ(value(report.launches[0], kGroupMemory, "shared load wavefronts"), 32770);
}

TEST(NcuReport, LiveOutputHasTheProgramsLinesAround) {
  const std::string live = recorded("live_basic.txt");
  const NcuReport report = read_ncu_report(live + "and a last \"word\n", "live_basic.txt");
  ASSERT_EQ(report.launches.size(), 1u);
  EXPECT_EQ(report.launches[0].kernel, "tiled_transpose");
  EXPECT_NEAR(value(report.launches[0], kGroupLaunch, "duration"), 4800, 1);
  // Of the basic set most are missing, and that is told.
  EXPECT_FALSE(report.launches[0].value(kGroupStalls, "barrier").measured);
  EXPECT_FALSE(report.launches[0].value(kGroupMemory, "global load sectors per request").measured);
}

TEST(NcuReport, TextThatIsNoSuchTableIsRefusedWithWhatWasExpected) {
  EXPECT_THAT(message_of(recorded("transpose_details.csv")), HasSubstr("--page raw"));
  EXPECT_THAT(message_of(""), HasSubstr("no table of ncu's"));
  EXPECT_THAT(message_of("a,b\n1,2\n"), HasSubstr("no table of ncu's"));
  EXPECT_THAT(message_of(recorded("ncu_run.txt")), HasSubstr("no table of ncu's"));
  EXPECT_THAT(message_of("\"ID\",\"Kernel Name\"\n"), HasSubstr("no launch"));
}

TEST(NcuReport, ACutOffTableGivesTheLaunchesThatAreWhole) {
  const std::string whole = recorded("row_sum_raw.csv");
  const std::size_t second = whole.rfind("\n\"1\"");
  const NcuReport report = read_ncu_report(std::string_view(whole).substr(0, second + 100), "r.csv");
  EXPECT_TRUE(report.cut_off);
  EXPECT_EQ(report.launches.size(), 1u);
  EXPECT_THAT(message_of(std::string_view(whole).substr(0, whole.find("\n\"0\"") + 50)),
              HasSubstr("ends before the first launch"));
}

// Cut anywhere, or with bytes changed: launches or a parse Error, never anything else.
TEST(NcuReport, DamagedTablesNeverCrash) {
  const std::string whole = recorded("row_sum_raw.csv");
  std::mt19937 random(3);
  std::size_t read = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string text = whole.substr(0, random() % (whole.size() + 1));
    for (std::uint32_t changes = random() % 4; changes > 0 && !text.empty(); --changes)
      text[random() % text.size()] = "\",\nI0"[random() % 5];
    try {
      read += read_ncu_report(text, "damaged").launches.size();
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::parse) << error.message();
    }
  }
  EXPECT_GT(read, 100u);
}

TEST(NcuReport, UnitsLoseTheirPrefixes) {
  const auto is = [](std::string_view text, std::string_view unit, double value, std::string_view base) {
    const auto measured = read_measured(text, unit);
    ASSERT_TRUE(measured) << text << " " << unit;
    EXPECT_DOUBLE_EQ(measured->value, value) << text << " " << unit;
    EXPECT_EQ(measured->unit, base) << text << " " << unit;
  };
  is("8.672", "us", 8672, "ns");
  is("1.5", "msecond", 1.5e6, "ns");
  is("2", "s", 2e9, "ns");
  is("1,234.5", "Kbyte", 1234500, "byte");
  is("1.889978", "Tbyte/s", 1.889978e12, "byte/s");
  is("1.47", "Ghz", 1.47e9, "hz");
  is("31", "register/thread", 31, "register/thread");
  is("-0.5", "%", -0.5, "%");
  is("7", "", 7, "");
  for (const char* none : {"", "n/a", "nan", "inf", "CachePreferNone", "(!) n/a", "1e999", "12x"})
    EXPECT_FALSE(read_measured(none, "us")) << none;
}

TEST(NcuReport, OlderNamesAreFound) {
  const NcuReport report = read_ncu_report(
      "\"ID\",\"Kernel "
      "Name\",\"gpu__time_duration.avg\",\"smsp__warp_issue_stalled_barrier_per_warp_active.pct\","
      "\"smsp__average_warp_latency_issue_stalled_wait.ratio\",\"dram__throughput.avg.pct_of_peak_sustained_"
      "elapsed\"\n"
      "\"\",\"\",\"nsecond\",\"%\",\"\",\"%\"\n\"7\",\"void f<float>(float*, "
      "\"\"x\"\")\",\"12,000\",\"3.5\",\"1.25\",\"n/a\"\n",
      "old.csv");
  const ProfiledLaunch& launch = report.launches.at(0);
  EXPECT_EQ(launch.kernel, "void f<float>(float*, \"x\")");
  EXPECT_EQ(value(launch, kGroupLaunch, "duration"), 12000);
  EXPECT_EQ(value(launch, kGroupStalls, "barrier"), 3.5);
  EXPECT_EQ(launch.value(kGroupStalls, "barrier").measured->unit, "%");
  EXPECT_EQ(value(launch, kGroupStalls, "wait"), 1.25);
  EXPECT_FALSE(launch.value(kGroupThroughput, "DRAM").measured);
}

TEST(NcuReport, KernelsAreChosenByAPartOfTheirName) {
  NcuReport report = read_ncu_report(recorded("row_sum_raw.csv"), "r");
  report.launches[1].kernel = "other";
  NcuReport copy = report;
  keep_kernel(copy, "row");
  ASSERT_EQ(copy.launches.size(), 1u);
  try {
    keep_kernel(report, "softmax");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "no launch of a kernel with 'softmax' in its name; the report has row_sum, other");
  }
}

}  // namespace
}  // namespace gpuforge::lab
