// Values never written that reach a store, a branch or an address.
#include <gtest/gtest.h>

#include <utility>

#include "tests/sim/seeded_bug.h"

namespace gpuforge::sim_bugs {
namespace {

using sim::Finding;

Case of(std::string kernel, std::uint32_t threads, std::size_t out, std::size_t in, std::uint32_t n = 0) {
  return {.file = "uninitialized.cu",
          .kernel = std::move(kernel),
          .geometry = {.block = {threads, 1, 1}},
          .out = Words(out),
          .in = numbered(in),
          .n = n};
}

auto by_thread(std::uint32_t x) {
  return [x](const Finding& finding, const Ran&) { EXPECT_EQ(finding.thread.x, x); };
}

TEST(SimBugs, UnwrittenSharedWordIsStored) {
  Words expected = numbered(64, 2);
  expected = {expected.rbegin(), expected.rend()};
  check({.setup = of("shared_to_store", 64, 64, 64), .expected = expected, .each = by_thread(0)});
}

TEST(SimBugs, UnwrittenLocalWordDecides) {
  Words expected(33);
  expected[32] = 32;
  check({.setup = of("local_to_branch", 32, 33, 32, 1), .expected = expected, .each = by_thread(7)});
}

TEST(SimBugs, UnwrittenGlobalWordIsAnIndex) {
  Case one = of("global_to_address", 32, 32, 32);
  one.in = filled(32, 3);
  one.in_initialized = false;
  check({.setup = one, .expected = filled(32, 1), .each = by_thread(0)});
}

TEST(SimBugs, UnwrittenGlobalWordIsStored) {
  Case one = of("global_to_store", 32, 32, 32);
  one.in_initialized = false;
  check({.setup = one, .expected = filled(32, 5), .each = by_thread(0)});
}

TEST(SimBugs, SumThatStartsFromNothing) {
  Words expected(32);
  for (std::uint32_t i = 0; i < 32; ++i) expected[i] = 3 * (i + 1) + 32 + 64;
  check({.setup = of("accumulator", 32, 32, 96, 3), .expected = expected, .each = by_thread(0)});
}

TEST(SimBugs, UnwrittenWordThroughShuffle) {
  Words expected = numbered(32);
  for (std::size_t i = 0; i < 32; i += 2) std::swap(expected[i], expected[i + 1]);
  check({.setup = of("through_shuffle", 32, 32, 32), .expected = expected, .each = by_thread(4)});
}

TEST(SimBugs, AtomicOnUnwrittenSharedWord) {
  check({.setup = of("atomic_on_shared", 32, 4, 32), .expected = filled(4, 8)});
}

TEST(SimBugs, RegisterNeverWritten) {
  check({.setup = of("asm_register", 32, 32, 32), .expected = numbered(32, 2), .each = by_thread(0)});
}

TEST(SimBugs, UnwrittenFlagIsVotedOn) {
  check({.setup = of("through_ballot", 32, 1, 32), .expected = {0xffff0000u}});
}

TEST(SimBugs, LastTileIsNotFull) {
  check({.setup = of("ragged_tile", 32, 32, 20, 20), .expected = filled(32, 210), .each = by_thread(0)});
}

TEST(SimBugs, ElementThatIsLeftOut) {
  Words expected(32);
  for (std::uint32_t i = 0; i < 32; ++i) expected[i] = 8 * (i + 1) + 28;
  check({.setup = of("skipped_element", 32, 32, 32, 3), .expected = expected, .each = by_thread(0)});
}

TEST(SimBugs, OutputIsAddedTo) {
  Case one = of("adds_to_output", 32, 32, 32);
  one.out_initialized = false;
  check({.setup = one, .expected = numbered(32), .each = by_thread(0)});
}

TEST(SimBugs, AtomicOnUnwrittenGlobalWord) {
  Case one = of("atomic_on_global", 32, 1, 32);
  one.out_initialized = false;
  check({.setup = one, .expected = {32 * 33 / 2}, .each = by_thread(0)});
}

TEST(SimBugs, UnwrittenWordThroughFunctions) {
  Words expected(32);
  for (std::uint32_t i = 0; i < 32; ++i) expected[i] = 2 * (i * 3 % 4 + 1);
  check({.setup = of("through_functions", 32, 32, 4, 3), .expected = expected, .each = by_thread(0)});
}

TEST(SimBugs, UnwrittenWordIsPrinted) {
  check({.setup = of("through_printf", 32, 32, 4, 3), .expected = filled(32, 1), .each = by_thread(0)});
}

TEST(SimBugs, UnwrittenBytesAreStored) {
  Words expected(8);
  for (std::uint32_t i = 0; i < 32; ++i) expected[i / 4] |= (i + 1) << (8 * (i % 4));
  check({.setup = of("bytes_to_global", 32, 8, 32), .expected = expected, .each = by_thread(16)});
}

TEST(SimBugs, UnwrittenFieldDecides) {
  Words expected(33);
  expected[32] = 32;
  check({.setup = of("field_to_branch", 32, 33, 32), .expected = expected, .each = by_thread(9)});
}

}  // namespace
}  // namespace gpuforge::sim_bugs
