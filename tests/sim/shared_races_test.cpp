// Missing and misplaced barriers between accesses to shared memory.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/sim/seeded_bug.h"

namespace gpuforge::sim_bugs {
namespace {

using sim::Finding;

Case of(std::string kernel, std::uint32_t threads, std::size_t out, std::size_t in) {
  return {.file = "shared_races.cu",
          .kernel = std::move(kernel),
          .geometry = {.block = {threads, 1, 1}},
          .out = Words(out),
          .in = numbered(in)};
}

std::uint32_t sum(const Words& words) {
  return std::accumulate(words.begin(), words.end(), 0u);
}

Words reversed_tiles() {
  Words result(64);
  for (std::uint32_t tile = 0; tile < 4; ++tile)
    for (std::uint32_t i = 0; i < 64; ++i) result[i] += tile * 64 + 63 - i + 1;
  return result;
}

Words reversed(Words words) {
  return {words.rbegin(), words.rend()};
}

TEST(SimBugs, TransposeWithoutBarrier) {
  Case setup = of("transpose", 32, 1024, 1024);
  setup.geometry.block = {32, 8, 1};
  Words expected(1024);
  for (std::uint32_t row = 0; row < 32; ++row)
    for (std::uint32_t column = 0; column < 32; ++column) expected[row * 32 + column] = column * 32 + row + 1;
  check({.setup = setup, .expected = expected, .each = [](const Finding& finding, const Ran&) {
           if (finding.kind != sim::FindingKind::race) return;
           EXPECT_EQ(finding.bytes, 4u);
           EXPECT_LT(finding.address, 32u * 33u * 4u) << "an offset in shared memory";
           EXPECT_EQ(finding.address % 4, 0u);
         }});
}

TEST(SimBugs, ReductionTreeWithoutBarrier) {
  check({.setup = of("reduce_tree", 256, 1, 256), .expected = {256 * 257 / 2}});
}

TEST(SimBugs, ScanWithoutSecondBarrier) {
  Words expected = numbered(128);
  std::partial_sum(expected.begin(), expected.end(), expected.begin());
  check({.setup = of("scan", 128, 128, 128), .expected = expected});
}

TEST(SimBugs, WarpSumWithoutSyncwarp) {
  check({.setup = of("warp_sum", 32, 1, 32), .expected = {sum(numbered(32))}});
}

TEST(SimBugs, DoubleBufferRefilledTooEarly) {
  check({.setup = of("double_buffer", 64, 64, 256), .expected = reversed_tiles()});
}

TEST(SimBugs, RefillWithoutSecondBarrier) {
  check({.setup = of("refill", 64, 64, 256), .expected = reversed_tiles()});
}

TEST(SimBugs, LanesStoreDifferentValuesToOneWord) {
  check({.setup = of("same_word", 32, 1, 32), .expected = {32}});
}

TEST(SimBugs, ArriveBeforeTheDataIsThere) {
  Words expected = reversed(numbered(32));
  for (std::uint32_t& word : expected) word *= 2;
  check({.setup = of("arrive_early", 64, 32, 32),
         .expected = expected,
         .each = [](const Finding& finding, const Ran&) {
           if (finding.kind == sim::FindingKind::race) {
             EXPECT_NE(finding.thread.x / 32, finding.other_thread.x / 32);
           }
         }});
}

TEST(SimBugs, ArriveBeforeTheDataIsThereAndExit) {
  Words expected = reversed(numbered(32));
  for (std::uint32_t& word : expected) word *= 2;
  check({.setup = of("arrive_and_exit", 64, 32, 32), .expected = expected});
}

TEST(SimBugs, BarrierForTwoOfThreeWarps) {
  check({.setup = of("wrong_barrier", 96, 96, 96),
         .expected = reversed(numbered(96)),
         .each = [](const Finding& finding, const Ran&) {
           if (finding.kind == sim::FindingKind::race) {
             EXPECT_EQ((finding.thread.x / 32 == 2) + (finding.other_thread.x / 32 == 2), 1)
                 << "the first two warps are ordered";
           }
         }});
}

TEST(SimBugs, SharedCounterWithoutAtomic) {
  check({.setup = of("counter", 64, 4, 64), .expected = {16, 16, 16, 16}});
}

TEST(SimBugs, ShuffleOrdersNoMemory) {
  check({.setup = of("shuffle_orders_nothing", 32, 32, 32), .expected = reversed(numbered(32))});
}

TEST(SimBugs, SyncwarpOfHalfTheReaders) {
  check({.setup = of("partial_syncwarp", 32, 32, 32), .expected = reversed(numbered(32))});
}

TEST(SimBugs, HistogramReadTooEarly) {
  check({.setup = of("early_read", 64, 4, 64), .expected = filled(4, 16)});
}

TEST(SimBugs, ByteStoredIntoAWordBeingRead) {
  Words expected(16);
  for (std::uint32_t i = 0; i < 64; ++i) expected[i / 4] |= (i + 1) << (8 * (i % 4));
  check({.setup = of("byte_of_word", 64, 16, 64), .expected = expected});
}

TEST(SimBugs, VectorsThatOverlap) {
  check({.setup = of("overlapping_vectors", 32, 32, 32),
         .expected = numbered(32),
         .each = [](const Finding& finding, const Ran&) {
           if (finding.kind == sim::FindingKind::race) {
             EXPECT_EQ(finding.bytes, 8u);
           }
         }});
}

}  // namespace
}  // namespace gpuforge::sim_bugs
