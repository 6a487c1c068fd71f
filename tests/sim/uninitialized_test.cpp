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

}  // namespace
}  // namespace gpuforge::sim_bugs
