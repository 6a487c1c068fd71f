// Accesses out of bounds, misaligned, to freed and to constant memory.
#include <gtest/gtest.h>

#include <utility>

#include "tests/sim/seeded_bug.h"

namespace gpuforge::sim_bugs {
namespace {

using sim::Finding;
using sim::Index3;

Case of(std::string kernel, std::uint32_t threads, std::size_t out, std::size_t in, std::uint32_t n = 0) {
  return {.file = "accesses.cu",
          .kernel = std::move(kernel),
          .geometry = {.block = {threads, 1, 1}},
          .out = Words(out),
          .in = numbered(in),
          .n = n};
}

// A finding at `address` by `thread` of `block`, of that many bytes.
auto at(std::uint64_t Ran::*buffer, std::int64_t offset, Index3 thread, std::uint32_t bytes = 4,
        Index3 block = {}) {
  return [=](const Finding& finding, const Ran& ran) {
    const std::uint64_t base = buffer == nullptr ? 0 : ran.*buffer;
    EXPECT_EQ(finding.address, base + static_cast<std::uint64_t>(offset));
    EXPECT_EQ(finding.thread, thread);
    EXPECT_EQ(finding.block, block);
    EXPECT_EQ(finding.bytes, bytes);
  };
}

constexpr std::uint64_t Ran::*kShared = nullptr;

Words sums_of_fours(std::size_t count) {
  Words result(count);
  for (std::uint32_t i = 0; i < count; ++i) result[i] = 16 * i + 10;
  return result;
}

TEST(SimBugs, SharedTileOffByOne) {
  check({.setup = of("shared_tile", 32, 32, 32), .expected = numbered(32), .each = at(kShared, 128, {31})});
}

TEST(SimBugs, DynamicSharedMemoryTooSmall) {
  SeededBug bug{.setup = of("dynamic_tile", 64, 64, 64), .expected = numbered(64)};
  for (std::size_t i = 0; i < 64; i += 2) std::swap(bug.expected[i], bug.expected[i + 1]);
  bug.setup.geometry.dynamic_shared_bytes = 256;
  bug.seed = [](Case& one) { one.geometry.dynamic_shared_bytes = 252; };
  bug.each = [](const Finding& finding, const Ran&) { EXPECT_EQ(finding.address, 252u); };
  check(bug);
}

TEST(SimBugs, StoreOnePastTheEnd) {
  SeededBug bug{.setup = of("store_past_end", 32, 64, 64),
                .expected = numbered(64),
                .each = at(&Ran::out_address, 256, {31}, 4, {1})};
  bug.setup.geometry.grid = {2, 1, 1};
  check(bug);
}

TEST(SimBugs, LoadOnePastTheEnd) {
  SeededBug bug{.setup = of("load_past_end", 32, 64, 64, 64),
                .expected = numbered(64, 2),
                .each = at(&Ran::in_address, 256, {31}, 4, {1})};
  bug.expected[63] = 0;
  bug.setup.geometry.grid = {2, 1, 1};
  check(bug);
}

TEST(SimBugs, NegativeIndex) {
  check({.setup = of("negative_index", 32, 32, 32),
         .expected = numbered(32, 0),
         .each = at(&Ran::in_address, -4, {0})});
}

// A signed overflow is undefined: NVRTC lets it wrap, clang goes on in 64 bits. Both are far outside.
TEST(SimBugs, IndexOverflowsIn32Bits) {
  check({.setup = of("overflowed_index", 1, 1, 8, 50000),
         .expected = {4},
         .each = [](const Finding& finding, const Ran& ran) {
           const bool wide = finding.address > ran.in_address;
           at(&Ran::in_address, 4 * (wide ? 2500000000 : 2500000000 - (std::int64_t{1} << 32)), {0})(finding,
                                                                                                     ran);
         }});
}

TEST(SimBugs, AddressWraps) {
  check({.setup = of("wrapped_address", 1, 1, 8, 1),
         .expected = {2},
         .each = at(&Ran::in_address, std::int64_t{1} << 62, {0})});
}

TEST(SimBugs, NullPointer) {
  check({.setup = of("null_pointer", 32, 32, 32), .expected = numbered(32), .each = at(kShared, 0, {0})});
}

TEST(SimBugs, LocalArrayOutOfBounds) {
  SeededBug bug{.setup = of("local_array", 32, 32, 32, 1), .expected = numbered(32)};
  for (std::uint32_t& word : bug.expected) word %= 8;
  check(bug);
}

TEST(SimBugs, MisalignedVectorLoad) {
  check({.setup = of("misaligned_global", 4, 4, 32),
         .expected = sums_of_fours(4),
         .each = at(&Ran::in_address, 4, {0}, 16)});
}

TEST(SimBugs, MisalignedVectorStore) {
  check({.setup = of("misaligned_store", 4, 16, 2),
         .expected = {1, 2, 1, 2, 1, 2, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0},
         .each = at(&Ran::out_address, 4, {0}, 8)});
}

TEST(SimBugs, MisalignedSharedVector) {
  check({.setup = of("misaligned_shared", 32, 32, 132),
         .expected = sums_of_fours(32),
         .each = at(kShared, 8, {0}, 16)});
}

TEST(SimBugs, MisalignedLocalWord) {
  SeededBug bug{.setup = of("misaligned_local", 1, 1, 1, 1), .expected = {0x03020100}};
  bug.setup.in = {2};
  check(bug);
}

TEST(SimBugs, MisalignedAtomic) {
  check({.setup = of("misaligned_atomic", 1, 4, 1),
         .expected = {0, 1, 0, 0},
         .each = at(&Ran::out_address, 2, {0})});
}

TEST(SimBugs, UseAfterFree) {
  check({.setup = of("freed", 32, 32, 32),
         .expected = numbered(32),
         .each = at(&Ran::in_address, 0, {0}),
         .seed = [](Case& one) { one.in_freed = true; }});
}

TEST(SimBugs, StoreToConstantMemory) {
  check({.setup = of("constant_store", 1, 2, 1, 1),
         .expected = {20, 7},
         .each = [](const Finding& finding, const Ran&) { EXPECT_EQ(finding.bytes, 4u); }});
}

TEST(SimBugs, AtomicPastTheEnd) {
  check({.setup = of("atomic_past_end", 32, 4, 32),
         .expected = {8, 8, 8, 8},
         .each = at(&Ran::out_address, 16, {3})});
}

TEST(SimBugs, VectorHalfPastTheEnd) {
  Words expected(16);
  for (std::uint32_t i = 0; i < 15; ++i) expected[i] = 4 * i + 3;
  check({.setup = of("half_past_end", 16, 16, 31),
         .expected = expected,
         .each = at(&Ran::in_address, 120, {15}, 8)});
}

}  // namespace
}  // namespace gpuforge::sim_bugs
