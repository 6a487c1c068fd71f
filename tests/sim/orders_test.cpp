// Results that depend on the order in which blocks, warps and lanes run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "tests/sim/seeded_bug.h"

namespace gpuforge::sim_bugs {
namespace {

using testing::HasSubstr;

void check_orders_through(jit::CompilerChoice front_end, const std::string& kernel, std::size_t words,
                          const Words& expected) {
  SCOPED_TRACE(front_end_name(front_end));
  const std::string wrong = kernel + "<true>", right = kernel + "<false>";
  const auto compiled = compile("orders.cu", text_of("orders.cu"), {wrong, right}, front_end);
  Case one{.file = "orders.cu",
           .kernel = kernel,
           .geometry = {.grid = {4, 1, 1}, .block = {64, 1, 1}},
           .out = Words(words),
           .in = numbered(256),
           .schedules = 4};
  const Ran found = run(one, *compiled, wrong, 0);
  ASSERT_EQ(found.report.findings.size(), 1u) << found.report.findings_text(200);
  const sim::Finding& finding = found.report.findings.front();
  EXPECT_EQ(finding.kind, sim::FindingKind::order_dependence);
  EXPECT_EQ(finding.space, "global");
  EXPECT_GE(finding.address, found.out_address);
  EXPECT_LT(finding.address, found.out_address + 4 * words);
  EXPECT_THAT(finding.message, HasSubstr("of out"));
  const Ran silent = run(one, *compiled, right, 0);
  EXPECT_EQ(silent.report.findings_text(200), "");
  EXPECT_EQ(silent.out, expected);
  one.schedules = 0;
  EXPECT_TRUE(run(one, *compiled, wrong, 0).report.clean()) << "one order alone shows nothing";
}

void check_orders(const std::string& kernel, std::size_t words, const Words& expected) {
  for (const jit::CompilerChoice front_end : front_ends())
    check_orders_through(front_end, kernel, words, expected);
}

TEST(SimBugs, PlacesInOrderOfArrival) {
  Words expected(241);
  for (std::uint32_t i = 1; i < 241; ++i) expected[i] = 16 + i;
  check_orders("compact", 241, expected);
}

TEST(SimBugs, FirstBlockWins) {
  check_orders("first_wins", 1, {99});
}

TEST(SimBugs, FloatsAddedInOrderOfArrival) {
  check_orders("float_sum", 1, {std::bit_cast<std::uint32_t>(256.0f * 257.0f / 2)});
}

// The lanes of a warp are in step in the first order alone.
TEST(SimBugs, WarpSumWithVolatileOnly) {
  check_orders("warp_sum", 2, {32 * 33 / 2, 32 * 33 / 2 + 32 * 32});
  check_orders("warp_sum_loop", 2, {32 * 33 / 2, 32 * 33 / 2 + 32 * 32});
}

// Before Volta the lanes of a warp ran in step: what was written for those chips is right on them.
TEST(SimBugs, WarpSumWithVolatileOnlyBeforeVolta) {
  const std::string kernel = "warp_sum<true>", target = ".target sm_90\n";
  jit::Compiled compiled = *compile("orders.cu", text_of("orders.cu"), {kernel}, jit::CompilerChoice::nvrtc);
  const std::size_t at = compiled.ptx.find(target);
  ASSERT_NE(at, std::string::npos);
  compiled.ptx.replace(at, target.size(), ".target sm_60\n");
  const Case one{.file = "orders.cu",
                 .kernel = "warp_sum",
                 .geometry = {.grid = {1, 1, 1}, .block = {64, 1, 1}},
                 .out = Words(2),
                 .in = numbered(64),
                 .schedules = 4};
  const Ran ran = run(one, compiled, kernel, 0);
  EXPECT_EQ(ran.report.findings_text(200), "");
  EXPECT_EQ(ran.out, (Words{32 * 33 / 2, 32 * 33 / 2 + 32 * 32}));
}

TEST(SimBugs, PlacesOfLanesInOrderOfArrival) {
  check_orders("places_in_a_warp", 11, {0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30});
}

}  // namespace
}  // namespace gpuforge::sim_bugs
