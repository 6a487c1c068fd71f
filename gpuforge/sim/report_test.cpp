#include "gpuforge/sim/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "gpuforge/base/json.h"

namespace gpuforge::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

SiteReport site(std::string file, std::uint32_t line, OpClass op_class, std::string space,
                SiteCounters counters) {
  SiteReport out;
  out.place = {std::move(file), line, line + 100, "op"};
  out.op_class = op_class;
  out.space = std::move(space);
  out.counters = counters;
  return out;
}

// A transpose-like launch: a load at line 7, shared store at 7, shared load with conflicts at 9, a branch.
LaunchReport example() {
  LaunchReport report;
  report.kernel = "transpose";
  report.grid = {4, 2, 1};
  report.block = {32, 8, 1};
  report.shared_bytes = 4096;
  report.seconds = 0.25;
  report.least_sectors = 148;
  report.sites.push_back(site("/src/tile.cu", 7, OpClass::load, "global",
                              {.warp_instructions = 64,
                               .thread_instructions = 2048,
                               .requests = 64,
                               .sectors = 256,
                               .least_sectors = 128,
                               .useful_bytes = 8192,
                               .requested_bytes = 8192}));
  report.sites.push_back(site("/src/tile.cu", 7, OpClass::store, "shared",
                              {.warp_instructions = 64,
                               .thread_instructions = 2048,
                               .requests = 64,
                               .wavefronts = 64,
                               .ideal_wavefronts = 64}));
  report.sites.push_back(site("/src/tile.cu", 9, OpClass::load, "shared",
                              {.warp_instructions = 64,
                               .thread_instructions = 1024,
                               .requests = 64,
                               .wavefronts = 2048,
                               .ideal_wavefronts = 64}));
  report.sites.push_back(site("/src/tile.cu", 11, OpClass::control, "",
                              {.warp_instructions = 64, .thread_instructions = 2048, .divergent = 3}));
  report.sites.push_back(site("/include/half.cuh", 12, OpClass::atomic, "generic",
                              {.warp_instructions = 1000000,
                               .thread_instructions = 1000000,
                               .requests = 10,
                               .sectors = 40,
                               .useful_bytes = 320,
                               .atomic_conflicts = 31}));
  report.sites.push_back(site("/src/tile.cu", 20, OpClass::fp32, "", {}));  // did not run
  return report;
}

Finding race() {
  Finding finding;
  finding.kind = FindingKind::race;
  finding.kernel = "transpose";
  finding.place = {"/src/tile.cu", 9, 109, "ld.shared.f32 \t%f1, [%r4]"};
  finding.block = {1, 0, 0};
  finding.thread = {3, 2, 0};
  finding.space = "shared";
  finding.address = 132;
  finding.bytes = 4;
  finding.message = "a read of 4 bytes at shared offset 132 is not ordered after a write by thread (0, 1, 0)";
  finding.other = {"/src/tile.cu", 7, 107, "st.shared.f32 \t[%r4], %f1"};
  finding.other_block = {1, 0, 0};
  finding.other_thread = {0, 1, 0};
  finding.count = 40;
  return finding;
}

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(Report, SumsBySourceLine) {
  const LaunchReport report = example();
  EXPECT_EQ(report.at("tile.cu:7").warp_instructions, 128u);
  EXPECT_EQ(report.at("src/tile.cu:7").warp_instructions, 128u);
  EXPECT_EQ(report.at("/src/tile.cu:7").warp_instructions, 128u);
  EXPECT_EQ(report.at("tile.cu").warp_instructions, 256u);
  EXPECT_EQ(report.at("ile.cu:7").warp_instructions, 0u) << "components, not any suffix";
  EXPECT_EQ(report.at("tile.cu:8").warp_instructions, 0u);
  EXPECT_EQ(report.in("shared", "tile.cu:7").requests, 64u);
  EXPECT_EQ(report.in("global", "tile.cu:7").sectors, 256u);
  EXPECT_EQ(report.warp_instructions(), 1000256u);
  EXPECT_EQ(report.thread_instructions(), 1007168u);
  EXPECT_EQ(report.thread_instructions(OpClass::load), 3072u);
  EXPECT_NEAR(report.active_lanes(), 1007168.0 / 1000256.0, 1e-12);
}

TEST(Report, RatiosAreOfTheirSpace) {
  const LaunchReport report = example();
  EXPECT_DOUBLE_EQ(report.sectors_per_request("tile.cu:7"), 4.0);
  EXPECT_DOUBLE_EQ(report.sectors_per_request(), 4.0) << "a generic access that went to global memory counts";
  EXPECT_DOUBLE_EQ(report.sectors_per_request("tile.cu:9"), 0.0);
  EXPECT_DOUBLE_EQ(report.moved_over_least(), 2.0);
  EXPECT_DOUBLE_EQ(report.moved_over_least("tile.cu:7"), 2.0);
  EXPECT_DOUBLE_EQ(report.moved_over_least("tile.cu:9"), 0.0) << "it moved nothing";
  EXPECT_DOUBLE_EQ(report.wavefronts_per_request("tile.cu:9"), 32.0);
  EXPECT_DOUBLE_EQ(report.wavefronts_per_request(), 16.5);
  EXPECT_TRUE(report.bank_conflicts());
  EXPECT_TRUE(report.bank_conflicts("tile.cu:9"));
  EXPECT_FALSE(report.bank_conflicts("tile.cu:7"));
  EXPECT_DOUBLE_EQ(LaunchReport().active_lanes(), 0.0);
}

TEST(Report, SuppressedFindingsDoNotCount) {
  LaunchReport report = example();
  EXPECT_TRUE(report.clean());
  report.findings.push_back(race());
  EXPECT_FALSE(report.clean());
  EXPECT_EQ(report.races(), 40u);
  EXPECT_EQ(report.count(FindingKind::barrier), 0u);
  report.findings[0].suppressed = true;
  EXPECT_TRUE(report.clean());
  EXPECT_EQ(report.races(), 0u);
}

TEST(Report, TextHasFindingsThenLinesThenTotals) {
  LaunchReport report = example();
  report.findings.push_back(race());
  report.findings.push_back(race());
  report.findings[1].suppressed = true;
  const std::string text = report.text(80);
  EXPECT_THAT(text, AllOf(HasSubstr("kernel transpose, grid (4, 2, 1), block (32, 8, 1)"),
                          HasSubstr("4096 bytes of shared memory"), HasSubstr("1 finding\n")));
  EXPECT_THAT(text, HasSubstr("1. race at tile.cu:9, kernel transpose, block (1, 0, 0), thread (3, 2, 0)"));
  EXPECT_THAT(text, HasSubstr("the other access: tile.cu:7, block (1, 0, 0), thread (0, 1, 0)"));
  EXPECT_THAT(text, AllOf(HasSubstr("ld.shared.f32 %f1, [%r4]"), HasSubstr("seen 40 times")));
  EXPECT_THAT(text, HasSubstr("suppressed: 1 finding (tile.cu:9)"));
  EXPECT_THAT(text, Not(HasSubstr("2. race")));
  EXPECT_LT(text.find("1. race"), text.find("by line of tile.cu"));
  EXPECT_LT(text.find("by line of tile.cu"), text.find("by line of half.cuh"));
  EXPECT_LT(text.find("by line of half.cuh"), text.find("totals by class"));
  EXPECT_THAT(text, Not(HasSubstr("fp32"))) << "classes that did not run are not listed";
  EXPECT_THAT(text, HasSubstr("global memory: 74 requests, 296 sectors of 32 bytes (4.00 per request), 90%"));
  EXPECT_THAT(text, HasSubstr("shared memory: 128 requests, 2112 wavefronts (16.50 per request); without"));
  EXPECT_THAT(text, HasSubstr("moved 9.2 KiB, least 4.6 KiB (2.0x)"));
  EXPECT_THAT(text, AllOf(HasSubstr("most warp instructions: half.cuh:12 (100% of 1.0M)"),
                          HasSubstr("most global sectors: tile.cu:7 (86% of 296)"),
                          HasSubstr("most bank conflicts: tile.cu:9 (100% of 2.0k)"),
                          HasSubstr("most atomic conflicts: half.cuh:12 (100% of 31)"),
                          HasSubstr("most divergent branches: tile.cu:11 (100% of 3)")));
}

TEST(Report, TextFitsItsWidth) {
  LaunchReport report = example();
  report.findings.push_back(race());
  for (const int width : {60, 72, 80, 100, 140}) {
    EXPECT_LE(longest_line(report.text(width)), static_cast<std::size_t>(width)) << report.text(width);
  }
  EXPECT_FALSE(report.text(-5).empty());
  EXPECT_THAT(report.text(100), AllOf(HasSubstr("useful"), HasSubstr("8.2k")));
}

// Every column at its widest still fits in 60 columns.
TEST(Report, TheWidestTableFitsInSixtyColumns) {
  LaunchReport report;
  report.sites.push_back(site("a.cu", 99999, OpClass::atomic, "generic",
                              {.warp_instructions = 999'499'999'999,
                               .thread_instructions = 32 * 999'499'999'999,
                               .requests = 999'499'999'999,
                               .sectors = 32 * 999'499'999'999,
                               .wavefronts = 32 * 999'499'999'999,
                               .ideal_wavefronts = 1,
                               .useful_bytes = 32 * 32 * 999'499'999'999,
                               .atomic_conflicts = 999'499'999'999,
                               .divergent = 999'499'999'999}));
  EXPECT_LE(longest_line(report.text(60)), 60u) << report.text(60);
}

TEST(Report, IndicesAreNotBroken) {
  LaunchReport report;
  report.findings.push_back(race());
  for (int width = 40; width < 120; ++width) {
    const std::string text = report.text(width);
    EXPECT_THAT(text, AllOf(HasSubstr("(1, 0, 0)"), HasSubstr("(3, 2, 0)"), HasSubstr("(0, 1, 0)"))) << width;
    EXPECT_LE(longest_line(text), static_cast<std::size_t>(width));
  }
}

TEST(Report, FindingsAlone) {
  LaunchReport report = example();
  EXPECT_EQ(report.findings_text(), "");
  report.findings.push_back(race());
  EXPECT_THAT(report.findings_text(60), AllOf(testing::StartsWith("1. race"), Not(HasSubstr("totals"))));
}

TEST(Report, SourceTextStandsBesideTheCountsWhereThereIsRoom) {
  const std::string file = testing::TempDir() + "report_test_tile.cu";
  std::ofstream(file)
      << "one\n\tint x = tile[threadIdx.x];  // a long line that does not fit in the room that is left\n";
  LaunchReport report;
  report.sites.push_back(
      site(file, 2, OpClass::load, "", {.warp_instructions = 1, .thread_instructions = 32}));
  report.sites.push_back(
      site(file, 9, OpClass::load, "", {.warp_instructions = 1, .thread_instructions = 32}));
  EXPECT_THAT(report.text(60), AllOf(HasSubstr("32.0  int x = tile[threadIdx.x];"), Not(HasSubstr("room"))));
  EXPECT_LE(longest_line(report.text(60)), 60u);
  EXPECT_THAT(report.text(120), HasSubstr("room that is left"));
  std::filesystem::remove(file);
  EXPECT_THAT(report.text(120), Not(HasSubstr("int x")));
}

TEST(Report, WithoutSourceLinesThePtxIsNamed) {
  LaunchReport report;
  report.kernel = "k";
  report.sites.push_back(
      site("", 0, OpClass::integer, "", {.warp_instructions = 1, .thread_instructions = 32}));
  report.findings.push_back(race());
  report.findings[0].place.file.clear();
  report.findings[0].other = {};
  const std::string text = report.text();
  EXPECT_THAT(text, AllOf(HasSubstr("race at line 109 of the PTX"), HasSubstr("by line of the PTX")));
  EXPECT_THAT(text, Not(HasSubstr("the other access")));
}

TEST(Report, AnEmptyReportIsShort) {
  LaunchReport report;
  report.kernel = "nothing";
  EXPECT_EQ(report.text(), "kernel nothing, grid (1, 1, 1), block (1, 1, 1): 0 findings\n");
}

TEST(Report, JsonHasEverything) {
  LaunchReport report = example();
  report.findings.push_back(race());
  report.printed = "hello\n";
  const Json json = Json::parse(report.json());
  EXPECT_EQ(json.at("kernel").as_string(), "transpose");
  EXPECT_EQ(json.at("grid").as_array()[1].as_integer(), 2);
  EXPECT_FALSE(json.at("clean").as_bool());
  const Json& finding = json.at("findings").as_array().at(0);
  EXPECT_EQ(finding.at("kind").as_string(), "race");
  EXPECT_EQ(finding.at("place").at("line").as_integer(), 9);
  EXPECT_EQ(finding.at("place").at("ptx_line").as_integer(), 109);
  EXPECT_EQ(finding.at("other_place").at("line").as_integer(), 7);
  EXPECT_EQ(finding.at("count").as_integer(), 40);
  EXPECT_EQ(finding.at("address").as_integer(), 132);
  EXPECT_DOUBLE_EQ(json.at("totals").at("global").at("sectors_per_request").as_double(), 4.0);
  EXPECT_EQ(json.at("totals").at("divergent_branches").as_integer(), 3);
  EXPECT_EQ(json.at("totals").at("global").at("least_bytes").as_integer(), 148 * 32);
  EXPECT_EQ(json.at("lines").as_array()[0].at("global").at("least_bytes").as_integer(), 128 * 32);
  EXPECT_EQ(json.at("classes").at("load").at("thread_instructions").as_integer(), 3072);
  EXPECT_EQ(json.at("classes").find("fp32"), nullptr);
  EXPECT_EQ(json.at("lines").as_array().size(), 4u);
  EXPECT_EQ(json.at("lines").as_array()[0].at("shared").at("wavefronts").as_integer(), 64);
  EXPECT_EQ(json.at("sites").as_array().size(), 6u) << "those that did not run too";
  EXPECT_EQ(json.at("printed").as_string(), "hello\n");
}

TEST(Report, EnumsHaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(FindingKind::stack_overflow); ++i) {
    names.insert(name(static_cast<FindingKind>(i)));
  }
  EXPECT_EQ(names.size(), 14u);
  EXPECT_EQ(names.count("unknown"), 0u);
  names.clear();
  for (int i = 0; i <= static_cast<int>(OpClass::other); ++i) names.insert(name(static_cast<OpClass>(i)));
  EXPECT_EQ(names.size(), 17u);
  EXPECT_EQ(names.count("unknown"), 0u);
}

}  // namespace
}  // namespace gpuforge::sim
