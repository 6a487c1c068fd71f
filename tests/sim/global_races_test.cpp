// Races in global memory, most of them between blocks.
#include <gtest/gtest.h>

#include <utility>

#include "tests/sim/seeded_bug.h"

namespace gpuforge::sim_bugs {
namespace {

using sim::Finding;

Case of(std::string kernel, std::uint32_t blocks, std::uint32_t threads, std::size_t out) {
  return {.file = "global_races.cu",
          .kernel = std::move(kernel),
          .geometry = {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}},
          .out = Words(out),
          .in = numbered(64)};
}

// Two blocks race at word `first` to `last` of out.
auto between_blocks(std::size_t first, std::size_t last) {
  return [=](const Finding& finding, const Ran& ran) {
    if (finding.kind != sim::FindingKind::race) return;
    EXPECT_NE(finding.block, finding.other_block);
    EXPECT_GE(finding.address, ran.out_address + 4 * first);
    EXPECT_LE(finding.address, ran.out_address + 4 * last);
    EXPECT_EQ(finding.bytes, 4u);
  };
}

TEST(SimBugs, LastBlockReductionWithoutFence) {
  check({.setup = of("last_block", 4, 64, 6),
         .expected = {100, 4, 10, 20, 30, 40},
         .each = between_blocks(2, 5)});
}

TEST(SimBugs, HandOffBetweenBlocksWithoutFence) {
  Words expected(66);
  expected[0] = 1;
  for (std::uint32_t i = 0; i < 32; ++i) expected[2 + i] = expected[65 - i] = i + 1;
  check({.setup = of("hand_off", 2, 32, 66), .expected = expected, .each = between_blocks(2, 33)});
}

TEST(SimBugs, FenceOfTheBlockBetweenBlocks) {
  check({.setup = of("small_fence", 2, 1, 3), .expected = {1, 1, 1}, .each = between_blocks(2, 2)});
}

TEST(SimBugs, SpinLockWithoutFences) {
  check({.setup = of("spin_lock", 4, 1, 2), .expected = {0, 4}, .each = between_blocks(1, 1)});
}

TEST(SimBugs, PlainPolling) {
  Case one = of("plain_poll", 2, 1, 3);
  one.step_limit = 1'000'000;  // a schedule may poll for ever
  check({.setup = one, .expected = {1, 1, 1}, .each = between_blocks(0, 2)});
}

// NVRTC writes atom.global.cta.add.u32 for it.
TEST(SimBugs, AtomicOfBlockScopeAcrossBlocks) {
  check({.setup = of("block_atomic", 2, 32, 1), .expected = {64}, .each = between_blocks(0, 0)});
}

TEST(SimBugs, BlocksStoreDifferentValuesToOneWord) {
  check({.setup = of("same_word", 3, 32, 1), .expected = {1}, .each = between_blocks(0, 0)});
}

TEST(SimBugs, PlainAdditionBesideAtomics) {
  check({.setup = of("plain_and_atomic", 2, 1, 1), .expected = {2}, .each = between_blocks(0, 0)});
}

TEST(SimBugs, ExchangeThroughGlobalMemoryWithoutBarrier) {
  Words expected = numbered(64);
  expected = {expected.rbegin(), expected.rend()};
  check({.setup = of("exchange", 1, 64, 64), .expected = expected});
}

TEST(SimBugs, RelaxedStoreWhereReleaseIsNeeded) {
  check({.setup = of("release", 2, 1, 3), .expected = {1, 1, 1}, .each = between_blocks(2, 2)});
}

TEST(SimBugs, ReaderWithoutFence) {
  check(
      {.setup = of("reader_fence", 4, 1, 6), .expected = {10, 4, 1, 2, 3, 4}, .each = between_blocks(2, 5)});
}

TEST(SimBugs, NeighbourBlocksOutput) {
  Words expected(12);
  for (std::uint32_t i = 0; i < 4; ++i) expected[i] = expected[8 + i] = i + 1;
  check({.setup = of("neighbour", 4, 1, 12), .expected = expected, .each = between_blocks(0, 3)});
}

TEST(SimBugs, PlainWriterOfAVolatileWord) {
  check({.setup = of("plain_writer", 2, 1, 2), .expected = {1, 1}, .each = between_blocks(0, 0)});
}

TEST(SimBugs, HandedOnWithoutFence) {
  check({.setup = of("hand_on", 3, 1, 4), .expected = {1, 1, 1, 1}, .each = between_blocks(2, 2)});
}

TEST(SimBugs, FencesOfOtherThreadsBeforeTheBarrier) {
  Words expected = numbered(34);
  for (std::size_t i = 34; i-- > 2;) expected[i] = static_cast<std::uint32_t>(i) - 1;
  expected[0] = 1;
  expected[1] = 32 * 33 / 2;
  check(
      {.setup = of("fence_before_barrier", 2, 32, 34), .expected = expected, .each = between_blocks(2, 33)});
}

TEST(SimBugs, ReleaseOfBlockScopeAcrossBlocks) {
  check({.setup = of("block_release", 2, 1, 3), .expected = {1, 1, 1}, .each = between_blocks(0, 2)});
}

TEST(SimBugs, FenceThatOnlyReleases) {
  check({.setup = of("half_a_fence", 2, 1, 3), .expected = {1, 1, 1}, .each = between_blocks(2, 2)});
}

TEST(SimBugs, LockGivenBackByAPlainStore) {
  check({.setup = of("plain_unlock", 3, 1, 2), .expected = {0, 3}, .each = between_blocks(0, 1)});
}

}  // namespace
}  // namespace gpuforge::sim_bugs
