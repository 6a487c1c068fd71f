// What a launch had to move at least.
#include "gpuforge/sim/sector_maps.h"

#include <gtest/gtest.h>

#include "gpuforge/sim/run_for_tests.h"

namespace gpuforge::sim {
namespace {

TEST(SectorMaps, PiecesAndLanesAreCountedOnce) {
  const Allocation allocation(0x1010, 8192, "x", true);
  SectorNotes notes(2);
  notes.piece(0, allocation, 0x1010, 16);    // 1: the sector it starts in the middle of
  notes.piece(0, allocation, 0x1020, 128);   // 4 more
  notes.piece(0, allocation, 0x1040, 1024);  // 32, of which 3 are known: across a word of bits
  const std::uint64_t apart[] = {0x1010, 0x1fe0, 0x1fe4, 0x1fe0};
  notes.lanes(1, allocation, apart, 4);
  EXPECT_EQ(notes.maps()->count({0}), 34u);
  EXPECT_EQ(notes.maps()->count({1}), 2u);
  EXPECT_EQ(notes.maps()->count({0, 1}), 35u);
  const Allocation other(0x8000, 64, "y", true);
  notes.piece(0, other, 0x8000, 64);
  notes.piece(0, allocation, 0x1010, 16);
  notes.piece(0, other, 0x8000, 64);
  EXPECT_EQ(notes.maps()->count({0, 1}), 37u);
}

TEST(SectorMaps, ThreadsAreAddedUp) {
  const Allocation allocation(0x1000, 4096, "x", true);
  SectorNotes one(1);
  one.piece(0, allocation, 0x1000, 64);
  SectorNotes two = one.for_another_thread(), no_use = one.for_another_thread();
  two.piece(0, allocation, 0x1020, 64);
  no_use.piece(0, allocation, 0x1800, 64);
  EXPECT_EQ(one.maps()->count({0}), 2u);
  one.add(two);
  EXPECT_EQ(one.maps()->count({0}), 3u);
}

// Two warps read the same 128 bytes twice and write 128 bytes each.
TEST(SectorMaps, ALaunchReadsAndWritesEachSectorOnceAtLeast) {
  const std::string body = std::string(kOwnWord) +
                           ".loc 1 5 1\n"
                           "and.b32 %r1, %r0, 31; mul.wide.u32 %d3, %r1, 4; add.u64 %d4, %d1, %d3;\n"
                           "ld.global.u32 %r2, [%d4]; ld.global.u32 %r3, [%d4]; add.u32 %r2, %r2, %r3;\n"
                           ".loc 1 6 1\n"
                           "st.global.u32 [%d0+256], %r2; ret;";
  for (const unsigned threads : {1u, 2u}) {
    TestRun test(module_text(body, 1) + ".file 1 \"/src/twice.cu\"\n");
    const auto& words = test.words(128);
    const bool aligned = reinterpret_cast<std::uint64_t>(words.data()) % 32 == 0;
    test.options.host_threads = threads;
    const LaunchReport report = test.run({1, 1, 1}, {64, 1, 1});
    const std::uint64_t row = aligned ? 4 : 5;      // sectors of 128 bytes
    const std::uint64_t written = aligned ? 8 : 9;  // of 256
    EXPECT_EQ(report.at("").sectors, 6 * row);      // 4 loads, 2 stores
    EXPECT_EQ(report.at("twice.cu:5").least_sectors, row);
    EXPECT_EQ(report.at("twice.cu:6").least_sectors, written);
    EXPECT_EQ(report.least_sectors, row + written);
    EXPECT_EQ(report.least_read_sectors, row);
    EXPECT_DOUBLE_EQ(report.moved_over_least("twice.cu:5"), 4.0);
    EXPECT_DOUBLE_EQ(report.moved_over_least(),
                     static_cast<double>(6 * row) / static_cast<double>(row + written));
    test.options.counters = false;
    EXPECT_EQ(test.run({1, 1, 1}, {64, 1, 1}).least_sectors, 0u);
  }
}

}  // namespace
}  // namespace gpuforge::sim
