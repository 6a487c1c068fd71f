#include "gpuforge/sim/races.h"

#include <gtest/gtest.h>

#include "gpuforge/sim/race_stage_for_tests.h"

namespace gpuforge::sim {
namespace {

constexpr bool kGlobal = false;

RaceStage::How plain(bool writes, std::uint32_t bytes = 4, bool shared = true) {
  RaceStage::How how;
  how.shared = shared;
  how.reads = !writes;
  how.writes = writes;
  how.bytes = bytes;
  how.site = writes ? 2 : 1;
  return how;
}
auto words(std::uint64_t first, std::uint64_t step = 1) {
  return [=](int lane) { return (first + static_cast<std::uint64_t>(lane) * step) * 4; };
}

// A tile is written by rows and read by columns; with and without the barrier.
std::uint64_t transpose(bool with_barrier, bool shared) {
  RaceStage stage(1, 4, kAllLanes, 32 * 33 * 4, 32 * 33);
  for (std::uint32_t turn = 0; turn < 3; ++turn) {
    for (std::uint32_t row = 0; row < 32; ++row)
      stage.access(0, row % 4, kAllLanes, words(row * 33), plain(true, 4, shared));
    if (with_barrier) stage.barrier(0);
    for (std::uint32_t column = 0; column < 32; ++column)
      stage.access(0, column % 4, kAllLanes, words(column, 33), plain(false, 4, shared));
    if (with_barrier) stage.barrier(0);
  }
  return stage.found();
}

TEST(Races, ABarrierBetweenWriteAndReadIsNeededAndEnough) {
  for (const bool shared : {true, false}) {
    EXPECT_EQ(transpose(true, shared), 0u);
    EXPECT_GT(transpose(false, shared), 0u);
  }
}

TEST(Races, TheSecondBarrierOfALoopIsNeeded) {
  RaceStage stage(1, 2);
  stage.access(0, 0, kAllLanes, words(0), plain(true));
  stage.barrier(0);
  stage.access(0, 1, kAllLanes, words(0), plain(false));
  stage.access(0, 0, kAllLanes, words(0), plain(true));  // refilled while warp 1 may still read
  EXPECT_EQ(stage.found(), 32u);
}

TEST(Races, AFindingSaysWhoAndWhere) {
  RaceStage stage(1, 2);
  stage.read(0, 35, 4);
  stage.write(0, 3, 4);
  ASSERT_EQ(stage.findings().size(), 1u);
  const Finding& finding = stage.findings()[0];
  EXPECT_EQ(finding.kind, FindingKind::race);
  EXPECT_EQ(finding.space, "shared");
  EXPECT_EQ(finding.address, 16u);
  EXPECT_EQ(finding.bytes, 4u);
  EXPECT_EQ(finding.thread, (Index3{3, 0, 0}));
  EXPECT_EQ(finding.other_thread, (Index3{35, 0, 0}));
  EXPECT_EQ(finding.other.line, 1u);
  EXPECT_EQ(
      finding.message,
      "thread (3, 0, 0) writes 4 bytes of shared memory at offset 0x10 that thread (35, 0, 0) read, with no "
      "barrier between them");
}

TEST(Races, ThreadsMayReuseTheirOwnCells) {
  for (const bool shared : {true, false}) {
    RaceStage stage(1, 2);
    for (int turn = 0; turn < 3; ++turn)
      for (std::uint32_t warp = 0; warp < 2; ++warp) {
        stage.access(0, warp, kAllLanes, words(warp * 32), plain(true, 4, shared));
        stage.access(0, warp, kAllLanes, words(warp * 32), plain(false, 4, shared));
        stage.warp_sync(0, warp);
      }
    EXPECT_EQ(stage.found(), 0u);
  }
}

TEST(Races, LanesOfAWarpNeedAWarpSync) {
  for (const bool shared : {true, false})
    for (const bool sync : {true, false}) {
      RaceStage stage(1, 1);
      stage.access(0, 0, kAllLanes, words(0), plain(true, 4, shared));
      if (sync) stage.warp_sync(0, 0);
      stage.access(
          0, 0, kAllLanes, [](int lane) { return static_cast<std::uint64_t>(lane ^ 1) * 4; },
          plain(false, 4, shared));
      if (sync) stage.warp_sync(0, 0);
      stage.access(0, 0, kAllLanes, words(0), plain(true, 4, shared));
      EXPECT_EQ(stage.found() == 0, sync);
    }
}

TEST(Races, WriteAfterBroadcastReadNeedsAWarpSync) {
  for (const bool shared : {true, false})
    for (const bool sync : {true, false}) {
      RaceStage stage(1, 1);
      stage.access(0, 0, kAllLanes, words(5, 0), plain(false, 4, shared));
      if (sync) stage.warp_sync(0, 0);
      stage.write(0, 7, 5, shared);
      EXPECT_EQ(stage.found(), sync ? 0u : 1u);
    }
}

TEST(Races, TilesSynchroniseTheirOwnLanesOnly) {
  for (const bool shared : {true, false}) {
    RaceStage stage(1, 1);
    // Tiles of 8: broadcast read, tile sync, write by the tile's first lane, tile sync, read again.
    for (std::uint32_t tile = 0; tile < 4; ++tile)
      stage.access(0, 0, 0xffu << 8 * tile, words(tile, 0), plain(false, 4, shared));
    for (std::uint32_t tile = 0; tile < 4; ++tile) stage.warp_sync(0, 0, 0xffu << 8 * tile);
    for (std::uint32_t tile = 0; tile < 4; ++tile) stage.write(0, 8 * tile, tile, shared);
    for (std::uint32_t tile = 0; tile < 4; ++tile) stage.warp_sync(0, 0, 0xffu << 8 * tile);
    for (std::uint32_t tile = 0; tile < 4; ++tile)
      stage.access(0, 0, 0xffu << 8 * tile, words(tile, 0), plain(false, 4, shared));
    EXPECT_EQ(stage.found(), 0u);
    stage.read(0, 8, 0, shared);  // the neighbour's word
    EXPECT_EQ(stage.found(), 1u);
    stage.warp_sync(0, 0);
    stage.read(0, 8, 0, shared);
    EXPECT_EQ(stage.found(), 1u);
  }
}

TEST(Races, TwoLanesOfOneStore) {
  for (const bool shared : {true, false}) {
    RaceStage stage(1, 1);
    RaceStage::How how = plain(true, 4, shared);
    how.one_value = true;
    how.value = 7;
    stage.access(0, 0, kAllLanes, words(3, 0), how);
    EXPECT_EQ(stage.found(), 0u) << "all lanes store the same value";
    stage.warp_sync(0, 0);
    how.value_step = 1;
    stage.access(0, 0, 0x3, words(3, 0), how);
    ASSERT_EQ(stage.found(), 1u);
    EXPECT_NE(stage.findings()[0].message.find("with the same instruction and another value"),
              std::string::npos);
  }
}

TEST(Races, UnorderedWritesOfTheValueThatIsThere) {
  for (const bool shared : {true, false}) {
    RaceStage stage(1, 2);
    RaceStage::How how = plain(true, 4, shared);
    how.one_value = true;
    how.value = 1;
    stage.access(0, 0, 1, words(3), how);
    stage.access(0, 1, 1, words(3), how);
    EXPECT_EQ(stage.found(), 0u);
    how.value = 2;
    stage.access(0, 0, 1, words(3), how);
    EXPECT_EQ(stage.found(), 1u);
  }
}

TEST(Races, PartsOfAWord) {
  for (const bool shared : {true, false})
    for (const std::uint32_t bytes : {1u, 2u}) {
      RaceStage stage(1, 2);
      const auto at = [=](int lane) { return static_cast<std::uint64_t>(lane) * bytes; };
      stage.access(0, 0, 0x55555555, at, plain(true, bytes, shared));
      stage.access(0, 1, 0xaaaaaaaa, at, plain(true, bytes, shared));
      EXPECT_EQ(stage.found(), 0u) << "neighbouring bytes";
      stage.read(0, 32, 0, shared);  // the whole word: warp 0 wrote a part of it
      EXPECT_EQ(stage.found(), 1u);
      stage.barrier(0);
      stage.read(0, 33, 0, shared);
      EXPECT_EQ(stage.found(), 1u);
      stage.access(
          0, 0, 1, [](int) { return std::uint64_t{3}; }, plain(true, 1, shared));
      EXPECT_EQ(stage.found(), 2u) << "a byte of a word that was read";
    }
}

TEST(Races, WideAccesses) {
  for (const bool shared : {true, false})
    for (const std::uint32_t bytes : {8u, 16u}) {
      RaceStage stage(1, 2);
      const auto at = [=](int lane) { return static_cast<std::uint64_t>(lane) * bytes; };
      stage.access(0, 0, kAllLanes, at, plain(true, bytes, shared));
      stage.barrier(0);
      stage.access(0, 1, kAllLanes, at, plain(false, bytes, shared));
      EXPECT_EQ(stage.found(), 0u);
      stage.write(0, 0, bytes / 4 * 31 + 1, shared);
      EXPECT_EQ(stage.found(), 1u);
      EXPECT_EQ(stage.findings()[0].other_thread, (Index3{63, 0, 0}));
    }
}

TEST(Races, ContiguousRunsAcrossPagesAndOddStarts) {
  RaceStage stage(2, 1, kAllLanes, 64, 4096);
  for (std::uint64_t first = 1000; first < 1030; ++first) {
    stage.access(0, 0, kAllLanes, words(first), plain(false, 4, kGlobal));
    stage.access(1, 0, 0x0000fff0, words(first), plain(false, 4, kGlobal));
  }
  EXPECT_EQ(stage.found(), 0u);
  stage.write(0, 0, 1045, kGlobal);
  EXPECT_EQ(stage.found(), 1u);
  stage.write(0, 1, 2000, kGlobal);
  EXPECT_EQ(stage.found(), 1u);
}

// Warp 0 fills a buffer and arrives; warp 1 waits, reads, and arrives at the other barrier.
TEST(Races, ProducerAndConsumerWithNamedBarriers) {
  for (const bool shared : {true, false})
    for (const bool early : {false, true}) {
      RaceStage stage(1, 3);
      for (int turn = 0; turn < 6; ++turn) {
        if (turn > 0) {  // wait for "empty"
          stage.arrive(0, 0, 2);
          stage.complete(0, 2);
          stage.leave(0, 0, 2);
        }
        stage.access(0, 0, kAllLanes, words(0), plain(true, 4, shared));
        stage.arrive(0, 0, 1);  // bar.arrive: goes on
        if (early) stage.access(0, 0, kAllLanes, words(0), plain(true, 4, shared));
        stage.arrive(0, 1, 1);
        stage.complete(0, 1);
        stage.leave(0, 1, 1);
        stage.access(0, 1, kAllLanes, words(0), plain(false, 4, shared));
        stage.arrive(0, 1, 2);
      }
      EXPECT_EQ(stage.found() > 0, early) << "what is written after bar.arrive is not released";
    }
}

TEST(Races, ConsumersThatArriveAtDifferentTimes) {
  for (const bool shared : {true, false}) {
    RaceStage stage(1, 4);
    stage.read(0, 32, 0, shared);
    stage.arrive(0, 1, 1);
    stage.read(0, 64, 0, shared);
    stage.arrive(0, 2, 2);
    for (const int barrier : {1, 2}) {
      stage.arrive(0, 0, barrier);
      stage.complete(0, barrier);
      stage.leave(0, 0, barrier);
    }
    stage.write(0, 0, 0, shared);
    EXPECT_EQ(stage.found(), 0u);
    stage.read(0, 96, 0, shared);
    EXPECT_EQ(stage.found(), 1u) << "warp 3 took no part";
  }
}

TEST(Races, ReadsOfWarpsThatArriveOneAfterTheOther) {
  for (const bool shared : {true, false}) {
    RaceStage stage(1, 3);
    for (std::uint32_t warp = 0; warp < 3; ++warp) {
      stage.access(0, warp, kAllLanes, words(5, 0), plain(false, 4, shared));
      stage.arrive(0, warp);
    }
    stage.complete(0);
    for (std::uint32_t warp = 0; warp < 3; ++warp) stage.leave(0, warp);
    stage.write(0, 70, 5, shared);
    EXPECT_EQ(stage.found(), 0u);
  }
}

TEST(Races, PartsOfAWordThatSeveralHaveRead) {
  for (const bool shared : {true, false}) {
    RaceStage stage(1, 3);
    const auto sync = [&] {
      for (const std::uint32_t warp : {0u, 1u}) stage.arrive(0, warp, 1);
      stage.complete(0, 1);
      for (const std::uint32_t warp : {0u, 1u}) stage.leave(0, warp, 1);
    };
    const auto byte = [](std::uint64_t at) { return [=](int) { return at; }; };
    sync();
    stage.read(0, 0, 0, shared);
    stage.read(0, 32, 0, shared);
    stage.access(0, 0, 1, byte(9), plain(false, 1, shared));
    sync();
    stage.access(0, 0, 1, byte(0), plain(false, 1, shared));
    stage.access(0, 1, 1, byte(1), plain(true, 1, shared));
    EXPECT_EQ(stage.found(), 0u);
    stage.access(0, 1, 1, byte(0), plain(true, 1, shared));
    EXPECT_EQ(stage.found(), 1u);
  }
}

TEST(Races, LanesThatArriveApart) {
  RaceStage stage(1, 2);
  stage.write(0, 0, 0);
  stage.arrive(0, 0, 0, 0x0000ffff);
  stage.write(0, 20, 1);
  stage.arrive(0, 0, 0, 0xffff0000);
  stage.arrive(0, 1);
  stage.complete(0);
  stage.leave(0, 0, 0, 0xffff0000);
  stage.leave(0, 1);
  stage.read(0, 40, 0);
  stage.read(0, 41, 1);
  stage.read(0, 20, 0);
  stage.leave(0, 0, 0, 0x0000ffff);
  stage.read(0, 0, 1);
  EXPECT_EQ(stage.found(), 0u);
}

TEST(Races, ExitedWarpsDoNotHoldBack) {
  RaceStage stage(1, 3);
  stage.write(0, 64, 0);
  stage.warp(0, 2).live = 0;
  for (const std::uint32_t warp : {0u, 1u}) stage.arrive(0, warp);
  stage.complete(0);
  for (const std::uint32_t warp : {0u, 1u}) stage.leave(0, warp);
  stage.read(0, 0, 0);
  EXPECT_EQ(stage.found(), 0u);
}

// A barrier that counts threads does not wait for those that never come.
TEST(Races, ExitedWarpsAreNotBehindABarrierThatCounts) {
  for (const bool arrives : {false, true})
    for (const bool late : {false, true}) {
      RaceStage stage(1, 3);
      if (!late) stage.write(0, 64, 0);
      if (arrives) stage.arrive(0, 2, 1);
      if (late) stage.write(0, 64, 0);
      stage.warp(0, 2).live = 0;
      for (const std::uint32_t warp : {0u, 1u}) stage.arrive(0, warp, 1);
      stage.complete(0, 1);
      for (const std::uint32_t warp : {0u, 1u}) stage.leave(0, warp, 1);
      stage.read(0, 0, 0);
      EXPECT_EQ(stage.found() == 0, arrives && !late);
    }
}

TEST(Races, AtomicsAndPlainAccesses) {
  for (const bool shared : {true, false}) {
    RaceStage stage(1, 2);
    for (std::uint32_t thread = 0; thread < 64; ++thread) stage.update(0, thread, 3, shared);
    stage.strong_read(0, 5, 3, shared);
    stage.strong_write(0, 40, 3, shared);
    EXPECT_EQ(stage.found(), 0u);
    stage.read(0, 0, 3, shared);
    EXPECT_EQ(stage.found(), 1u) << "atomics order nothing";
    stage.barrier(0);
    stage.read(0, 0, 3, shared);
    EXPECT_EQ(stage.found(), 1u);
    stage.update(0, 33, 3, shared);
    EXPECT_EQ(stage.found(), 2u) << "an atomic after an unordered plain read";
    stage.strong_read(0, 33, 4, shared);
    stage.write(0, 1, 4, shared);
    EXPECT_EQ(stage.found(), 3u) << "a plain write after an unordered strong read";
  }
}

TEST(Races, BlocksAreUnordered) {
  RaceStage stage(3, 1);
  stage.write(0, 0, 1, kGlobal);
  stage.end_block(0);
  stage.read(1, 0, 1, kGlobal);
  ASSERT_EQ(stage.found(), 1u);
  EXPECT_EQ(stage.findings()[0].other_block, (Index3{0, 0, 0}));
  EXPECT_EQ(stage.findings()[0].space, "global");
  stage.read(1, 0, 2, kGlobal);
  stage.read(2, 0, 2, kGlobal);
  stage.write(2, 0, 2, kGlobal);
  EXPECT_EQ(stage.found(), 2u);
  stage.read(1, 0, 7, kGlobal);
  stage.write(2, 0, 7, kGlobal);
  EXPECT_EQ(stage.found(), 3u);
}

TEST(Races, LaunchesAreOrdered) {
  RaceStage stage(2, 1);
  stage.write(0, 0, 1, kGlobal);
  stage.update(1, 0, 2, kGlobal);
  stage.read(0, 3, 9, kGlobal);
  stage.read(1, 3, 9, kGlobal);
  stage.next_launch();
  stage.read(1, 0, 1, kGlobal);
  stage.write(0, 0, 2, kGlobal);
  stage.write(0, 0, 9, kGlobal);
  EXPECT_EQ(stage.found(), 0u);
  stage.read(1, 0, 9, kGlobal);
  EXPECT_EQ(stage.found(), 1u);
}

TEST(Races, SharedMemoryStartsAnewWithEachBlock) {
  RaceStage stage(1, 2);
  stage.write(0, 0, 1);
  stage.read(0, 0, 2);
  stage.end_block(0);
  stage.next_launch();
  stage.read(0, 40, 1);
  stage.write(0, 40, 2);
  EXPECT_EQ(stage.found(), 0u);
}

TEST(Races, ScopeOfTheBlockDoesNotReachOthers) {
  RaceStage stage(2, 2);
  stage.update(0, 0, 3, kGlobal, Order::relaxed, Scope::cta);
  stage.update(0, 40, 3, kGlobal, Order::relaxed, Scope::cta);
  EXPECT_EQ(stage.found(), 0u);
  stage.update(1, 0, 3, kGlobal, Order::relaxed, Scope::gpu);
  ASSERT_EQ(stage.found(), 1u);
  EXPECT_NE(stage.findings()[0].message.find("scope"), std::string::npos);
}

// Whole lines: the same bytes by the same warp, but not lane for lane.
TEST(Races, LinesKnowWhichLaneHasWhichWord) {
  const auto access = [](RaceStage& stage, std::uint32_t warp, bool writes, std::uint32_t bytes,
                         std::uint64_t first, Mask lanes = kAllLanes) {
    RaceStage::How how;
    how.shared = false;
    how.reads = !writes;
    how.writes = writes;
    how.bytes = bytes;
    stage.access(
        0, warp, lanes, [&](int lane) { return first + static_cast<std::uint64_t>(lane) * bytes; }, how);
  };
  for (const bool first_writes : {false, true})
    for (const bool second_writes : {false, true})
      for (const std::uint32_t bytes : {2u, 4u, 8u, 16u})
        for (const std::uint64_t start : {0u, 32u}) {
          RaceStage stage(1, 2);
          access(stage, 0, first_writes, 4, start);
          access(stage, 0, second_writes, bytes, start);
          const bool same = bytes == 4 || (!first_writes && !second_writes);
          EXPECT_EQ(stage.found() == 0, same) << bytes << " bytes from " << start;
          stage.barrier(0);
          const std::uint64_t before = stage.found();
          access(stage, 1, true, bytes, start);  // and none of it is left after a barrier
          access(stage, 0, false, 4, 2048);
          EXPECT_EQ(stage.found(), before);
        }
  RaceStage both(1, 2);  // lanes that read a word by accesses of two widths both count
  access(both, 0, false, 4, 0);
  access(both, 0, false, 8, 0);
  access(both, 0, true, 8, 0);
  EXPECT_NE(both.found(), 0u);
}

TEST(Races, LinesOfEarlierLaunchesDoNotCount) {
  RaceStage stage(2, 1);
  const auto words = [&](std::uint32_t block, bool writes, std::uint64_t first) {
    RaceStage::How how;
    how.shared = false;
    how.reads = !writes;
    how.writes = writes;
    stage.access(
        block, 0, kAllLanes, [&](int lane) { return (first + static_cast<std::uint64_t>(lane)) * 4; }, how);
  };
  words(0, true, 0);
  words(0, true, 32 + 5);  // two sides of lines
  words(0, true, 64 + 5);
  words(1, false, 128);
  stage.next_launch();
  for (const std::uint64_t first : {0u, 32u, 64u, 128u}) words(1, true, first);
  EXPECT_EQ(stage.found(), 0u);
  stage.next_launch();
  words(0, true, 32 + 5);
  words(1, false, 64 + 5);
  EXPECT_EQ(stage.found(), 0u);
  words(1, false, 32);
  EXPECT_NE(stage.found(), 0u);
}

// Two warps read a line, each ordered before a third one's write by a barrier of its own.
TEST(Races, LinesKeepEachReader) {
  for (const bool second : {true, false}) {
    RaceStage stage(1, 3);
    RaceStage::How how;
    how.shared = false;
    const auto line = [&](std::uint32_t warp, bool writes) {
      how.reads = !writes;
      how.writes = writes;
      stage.access(
          0, warp, kAllLanes, [](int lane) { return static_cast<std::uint64_t>(lane) * 4; }, how);
    };
    const auto meet = [&](std::uint32_t warp, int barrier) {
      for (const std::uint32_t one : {warp, 2u}) stage.arrive(0, one, barrier);
      stage.complete(0, barrier);
      for (const std::uint32_t one : {warp, 2u}) stage.leave(0, one, barrier);
    };
    line(0, false);
    meet(0, 1);
    line(1, false);
    if (second) meet(1, 2);
    line(2, true);
    EXPECT_EQ(stage.found() == 0, second);
  }
}

// Scattered accesses to many lines: the others around them are still known.
TEST(Races, LinesAmongScatteredAccesses) {
  constexpr std::uint64_t kWords = 1 << 18, kLine = 4000 * 32;
  for (const bool ordered : {true, false})
    for (const bool whole : {true, false}) {
      RaceStage stage(1, 2, kAllLanes, 64, kWords);
      RaceStage::How how;
      how.shared = false;
      const auto line = [&](std::uint32_t warp, bool writes, std::uint64_t first) {
        how.reads = !writes;
        how.writes = writes;
        stage.access(
            0, warp, kAllLanes, [&](int lane) { return (first + static_cast<std::uint64_t>(lane)) * 4; },
            how);
      };
      line(0, true, kLine);
      line(0, false, kLine + 32);
      for (std::uint64_t i = 0; i < 3000; ++i)
        stage.read(0, 32 + static_cast<std::uint32_t>(i % 32), i * 32 + 10, false);
      EXPECT_EQ(stage.found(), 0u);
      if (ordered) stage.barrier(0);
      if (whole)
        line(1, false, kLine);
      else
        stage.read(0, 32 + 7, kLine + 9, false);
      EXPECT_EQ(stage.found() == 0, ordered);
      const std::uint64_t before = stage.found();
      if (whole)
        line(1, true, kLine + 32);
      else
        stage.write(0, 32 + 7, kLine + 32 + 9, false);
      EXPECT_EQ(stage.found() == before, ordered);
    }
}

// Lanes in one page whose lines all have cells: against what was there, and what comes.
TEST(Races, StridesAmongScatteredAccesses) {
  for (const bool ordered : {true, false})
    for (const bool written_before : {true, false}) {
      RaceStage stage(1, 2, kAllLanes, 64, 1 << 18);
      for (std::uint64_t i = 0; i < 3000; ++i)
        stage.read(0, 32 + static_cast<std::uint32_t>(i % 32), i * 32 + 10, false);
      if (written_before) stage.write(0, 3, 4000 * 32 + 3 * 5, false);
      if (written_before && ordered) stage.barrier(0);
      RaceStage::How how;
      how.shared = false;
      how.reads = true;
      stage.access(
          0, 1, kAllLanes, [](int lane) { return (4000 * 32 + static_cast<std::uint64_t>(lane) * 5) * 4; },
          how);
      EXPECT_EQ(stage.found() == 0, ordered || !written_before);
      if (written_before) continue;
      if (ordered) stage.barrier(0);
      stage.write(0, 3, 4000 * 32 + 31 * 5, false);
      EXPECT_EQ(stage.found() == 0, ordered);
    }
}

}  // namespace
}  // namespace gpuforge::sim
