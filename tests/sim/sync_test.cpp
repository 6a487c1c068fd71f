// Barriers and warp-wide instructions that not everyone named by them reaches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/sim/seeded_bug.h"

namespace gpuforge::sim_bugs {
namespace {

using sim::Finding;
using testing::HasSubstr;

Case warp(std::string kernel, std::size_t out) {
  return {.file = "warp_sync.cu",
          .kernel = std::move(kernel),
          .geometry = {.block = {32, 1, 1}},
          .out = Words(out),
          .in = numbered(32)};
}

Case block(std::string kernel, std::uint32_t n = 0) {
  return {.file = "barriers.cu",
          .kernel = std::move(kernel),
          .geometry = {.block = {64, 1, 1}},
          .out = Words(64),
          .in = numbered(64),
          .n = n};
}

Words swapped_pairs(std::size_t count) {
  Words words = numbered(count);
  for (std::size_t i = 0; i < count; i += 2) std::swap(words[i], words[i + 1]);
  return words;
}

TEST(SimBugs, SyncwarpWithWrongMask) {
  check({.setup = warp("syncwarp_mask", 16),
         .expected = numbered(16),
         .each = [](const Finding& finding, const Ran&) { EXPECT_LT(finding.thread.x, 16u); }});
}

TEST(SimBugs, SyncwarpOfAllInABranch) {
  Words expected(32);
  for (std::uint32_t i = 0; i < 32; ++i) expected[31 - i] = i + 1 + (i < 16 ? 100 : 0);
  check({.setup = warp("syncwarp_in_branch", 32), .expected = expected});
}

TEST(SimBugs, ShuffleByLanesOutsideTheMask) {
  check({.setup = warp("shuffle_outside_mask", 32),
         .expected = swapped_pairs(32),
         .each = [](const Finding& finding, const Ran&) { EXPECT_GE(finding.thread.x, 16u); }});
}

TEST(SimBugs, ShuffleReadsInactiveLane) {
  check({.setup = warp("shuffle_inactive", 16),
         .expected = filled(16, 5),
         .each = [](const Finding& finding, const Ran&) { EXPECT_LT(finding.thread.x, 16u); }});
}

TEST(SimBugs, TwoMasksThatOverlap) {
  check({.setup = warp("two_masks", 32), .expected = swapped_pairs(32)});
}

// The lanes waited for end: that alone lets the others go on.
TEST(SimBugs, TwoMasksThatOverlapBeforeTheEnd) {
  check({.setup = warp("two_masks_and_exit", 32), .expected = swapped_pairs(32)});
}

TEST(SimBugs, BallotWithWrongMask) {
  check({.setup = warp("ballot_mask", 4), .expected = filled(4, 12)});
}

TEST(SimBugs, ReduceWithLanesOutsideTheMask) {
  check({.setup = warp("redux_mask", 8),
         .expected = filled(8, 36),
         .each = [](const Finding& finding, const Ran&) { EXPECT_EQ(finding.thread.x, 4u); }});
}

TEST(SimBugs, MatchWithWrongMask) {
  check({.setup = warp("match_mask", 8), .expected = {7, 7, 7, 0x78, 0x78, 0x78, 0x78, 0x80}});
}

TEST(SimBugs, BarrierInADivergentBranch) {
  Words expected(64);
  for (std::uint32_t i = 0; i < 64; ++i) expected[i] = 2 * (i + 2);
  check({.setup = block("divergent"), .expected = expected});
}

TEST(SimBugs, CountedBarrierAfterAWarpReturned) {
  Words expected(64);
  for (std::uint32_t i = 0; i < 32; ++i) expected[i] = 32 - i;
  check({.setup = block("after_return", 32),
         .expected = expected,
         .each = [](const Finding& finding, const Ran&) {
           EXPECT_THAT(finding.message, HasSubstr("32 of the block's 64 threads have exited"));
         }});
}

TEST(SimBugs, BarrierCountThatIsNoNumberOfWarps) {
  check({.setup = block("odd_count", 48), .expected = numbered(64)});
}

TEST(SimBugs, BarrierThatWaitsForTooMany) {
  check({.setup = block("too_few"), .expected = numbered(64), .each = [](const Finding& finding, const Ran&) {
           EXPECT_THAT(finding.message, HasSubstr("warp 0 (lanes 0xffffffff) at barriers.cu:"));
           EXPECT_THAT(finding.message, HasSubstr("warp 1 (lanes 0xffffffff) at barriers.cu:"));
         }});
}

TEST(SimBugs, BarrierWithTwoCounts) {
  check({.setup = block("two_counts"), .expected = numbered(64)});
}

TEST(SimBugs, BarrierThatDoesNotExist) {
  check({.setup = block("no_such_barrier", 16), .expected = numbered(64)});
}

TEST(SimBugs, TwoBarriersInOppositeOrder) {
  check({.setup = block("crossed"), .expected = numbered(64), .each = [](const Finding& finding, const Ran&) {
           EXPECT_THAT(finding.message, HasSubstr("warp 0"));
           EXPECT_THAT(finding.message, HasSubstr("warp 1"));
         }});
}

TEST(SimBugs, BarrierInALoopOfUnevenLength) {
  check({.setup = block("uneven_loop", 3), .expected = numbered(64, 4)});
}

}  // namespace
}  // namespace gpuforge::sim_bugs
