// Synchronisation between blocks: known patterns are silent, and each of them without one of its parts is
// found.
#include <gtest/gtest.h>

#include "gpuforge/sim/race_stage_for_tests.h"
#include "gpuforge/sim/races.h"

namespace gpuforge::sim {
namespace {

constexpr bool kGlobal = false;
constexpr std::uint64_t kCounter = 1000;

RaceStage::How plain(bool writes) {
  RaceStage::How how;
  how.shared = kGlobal;
  how.reads = !writes;
  how.writes = writes;
  how.site = writes ? 2 : 1;
  return how;
}
auto words(std::uint64_t first) {
  return [=](int lane) { return (first + static_cast<std::uint64_t>(lane)) * 4; };
}

struct Parts {
  bool barrier_before = true;
  bool fence = true;
  bool barrier_after = true;
  bool everyone_fences = false;  // each thread its own writes, before the barrier, and none after it
  bool last_fences = true;       // the last block, before it reads
  Scope fence_scope = Scope::gpu;
  Scope scope = Scope::gpu;
};

// Every block writes its partial sums with all of its threads; the last one reads all of them.
std::uint64_t last_block_sums(Parts parts) {
  constexpr std::uint32_t kBlocks = 5;
  RaceStage stage(kBlocks, 2);
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    for (std::uint32_t warp = 0; warp < 2; ++warp)
      stage.access(block, warp, kAllLanes, words(block * 64 + warp * 32), plain(true));
    if (parts.everyone_fences)
      for (std::uint32_t thread = 0; thread < 64; ++thread) stage.fence(block, thread, parts.fence_scope);
    if (parts.barrier_before) stage.barrier(block);
    if (parts.fence && !parts.everyone_fences) stage.fence(block, 0, parts.fence_scope);
    stage.update(block, 0, kCounter, kGlobal, Order::relaxed, parts.scope);
    if (parts.last_fences) stage.fence(block, 0, parts.fence_scope);
    stage.write(block, 0, 0, true);  // "I am the last"
    if (parts.barrier_after) stage.barrier(block);
    if (block + 1 < kBlocks) {
      stage.end_block(block);
      continue;
    }
    for (std::uint32_t of = 0; of < kBlocks; ++of)
      for (std::uint32_t warp = 0; warp < 2; ++warp)
        stage.access(block, 1 - warp, kAllLanes, words(of * 64 + warp * 32), plain(false));
  }
  return stage.found();
}

TEST(RacePatterns, TheLastBlockSumsUp) {
  EXPECT_EQ(last_block_sums({}), 0u);
  EXPECT_EQ(last_block_sums({.everyone_fences = true}), 0u);
}
TEST(RacePatterns, TheLastBlockSumsUpAndAPartIsMissing) {
  EXPECT_GT(last_block_sums({.barrier_before = false}), 0u) << "only one lane's writes are released";
  EXPECT_GT(last_block_sums({.fence = false}), 0u);
  EXPECT_GT(last_block_sums({.barrier_after = false}), 0u);
  EXPECT_GT(last_block_sums({.last_fences = false}), 0u);
  EXPECT_GT(last_block_sums({.fence_scope = Scope::cta}), 0u);
  EXPECT_GT(last_block_sums({.scope = Scope::cta}), 0u);
}

// Cooperative groups' grid sync, three times, with data going round the blocks in place.
std::uint64_t grid_sync(bool barriers, bool fences, bool strong_poll, bool acquire_poll) {
  constexpr std::uint32_t kBlocks = 4;
  RaceStage stage(kBlocks, 2);
  const auto sync = [&] {
    for (std::uint32_t block = 0; block < kBlocks; ++block) {
      if (barriers) stage.barrier(block);
      if (fences) stage.fence(block, 0);
      stage.update(block, 0, kCounter);
      if (strong_poll)
        stage.strong_read(block, 0, kCounter, kGlobal, acquire_poll ? Order::acquire : Order::relaxed);
      else
        stage.read(block, 0, kCounter, kGlobal);
    }
    for (std::uint32_t block = 0; block < kBlocks; ++block) {
      if (strong_poll)
        stage.strong_read(block, 0, kCounter, kGlobal, acquire_poll ? Order::acquire : Order::relaxed);
      else
        stage.read(block, 0, kCounter, kGlobal);
      if (fences && !acquire_poll) stage.fence(block, 0);
      if (barriers) stage.barrier(block);
    }
  };
  for (std::uint32_t turn = 0; turn < 3; ++turn) {
    for (std::uint32_t block = 0; block < kBlocks; ++block)
      for (std::uint32_t warp = 0; warp < 2; ++warp)
        for (std::uint32_t of = 0; of < kBlocks; ++of)  // everyone reads everything
          stage.access(block, warp, kAllLanes, words(of * 64 + warp * 32), plain(false));
    sync();
    for (std::uint32_t block = 0; block < kBlocks; ++block)
      for (std::uint32_t warp = 0; warp < 2; ++warp)
        stage.access(block, warp, kAllLanes, words((block + turn) % kBlocks * 64 + warp * 32), plain(true));
    sync();
  }
  return stage.found();
}

TEST(RacePatterns, GridSync) {
  EXPECT_EQ(grid_sync(true, true, true, false), 0u);
  EXPECT_EQ(grid_sync(true, true, true, true), 0u);
  EXPECT_GT(grid_sync(false, true, true, false), 0u);
  EXPECT_GT(grid_sync(true, false, true, false), 0u);
  EXPECT_GT(grid_sync(true, true, false, false), 0u) << "a plain poll";
}

// Block b publishes its sum and adds what block b - 1 published.
std::uint64_t look_back(bool release, bool fences, bool acquire) {
  RaceStage stage(4, 1);
  for (std::uint32_t block = 0; block < 4; ++block) {
    if (block > 0) {
      stage.strong_read(block, 0, 500 + block - 1, kGlobal, acquire ? Order::acquire : Order::relaxed);
      if (fences) stage.fence(block, 0);
      stage.read(block, 0, block - 1, kGlobal);
    }
    stage.write(block, 0, block, kGlobal);
    if (fences) stage.fence(block, 0);
    stage.strong_write(block, 0, 500 + block, kGlobal, release ? Order::release : Order::relaxed);
  }
  return stage.found();
}

TEST(RacePatterns, DecoupledLookBack) {
  EXPECT_EQ(look_back(true, false, true), 0u);
  EXPECT_EQ(look_back(false, true, false), 0u);
  EXPECT_GT(look_back(false, false, true), 0u);
  EXPECT_GT(look_back(true, false, false), 0u);
  EXPECT_GT(look_back(false, false, false), 0u);
}

// A word, a fence, a barrier to another thread, a flag; the flag, a barrier to another thread, a fence, the
// word: fence.sc orders past the barriers, the others do not.
TEST(RacePatterns, FencesBesideBarriers) {
  for (const Fence first : {Fence::release, Fence::acq_rel, Fence::sc})
    for (const Fence second : {Fence::acquire, Fence::acq_rel, Fence::sc})
      for (const bool far_writer : {false, true})
        for (const bool far_reader : {false, true}) {
          RaceStage stage(2, 2);
          stage.write(0, 0, 1, kGlobal);
          stage.fence(0, 0, Scope::gpu, first);
          if (far_writer) stage.barrier(0);
          stage.strong_write(0, far_writer ? 32 : 0, kCounter);
          stage.strong_read(1, 0, kCounter);
          if (far_reader) stage.barrier(1);
          stage.fence(1, far_reader ? 40 : 0, Scope::gpu, second);
          stage.read(1, far_reader ? 40 : 0, 1, kGlobal);
          const bool ordered = (!far_writer && !far_reader) || (first == Fence::sc && second == Fence::sc);
          EXPECT_EQ(stage.found() == 0, ordered);
        }
}

// A thread between two others hands on what it has fenced or acquired, and nothing else.
TEST(RacePatterns, HandedOnByAThirdThread) {
  for (const bool acquires : {false, true})
    for (const bool fence : {false, true})
      for (const bool release : {false, true}) {
        RaceStage stage(3, 1);
        stage.write(0, 0, 1, kGlobal);
        stage.strong_write(0, 0, kCounter, kGlobal, Order::release);
        stage.strong_read(1, 0, kCounter, kGlobal, acquires ? Order::acquire : Order::relaxed);
        if (fence) stage.fence(1, 0, Scope::gpu, Fence::acq_rel);
        stage.strong_write(1, 0, kCounter + 1, kGlobal, release ? Order::release : Order::relaxed);
        stage.strong_read(2, 0, kCounter + 1, kGlobal, Order::acquire);
        stage.read(2, 0, 1, kGlobal);
        EXPECT_EQ(stage.found() == 0, fence || (acquires && release));
      }
}

TEST(RacePatterns, AStoreOfAnotherThreadEndsARelease) {
  for (const bool update : {false, true}) {
    RaceStage stage(3, 1);
    stage.write(0, 0, 1, kGlobal);
    stage.strong_write(0, 0, kCounter, kGlobal, Order::release);
    if (update)
      stage.update(1, 0, kCounter);
    else
      stage.strong_write(1, 0, kCounter);
    stage.strong_read(2, 0, kCounter, kGlobal, Order::acquire);
    stage.read(2, 0, 1, kGlobal);
    EXPECT_EQ(stage.found(), update ? 0u : 1u);
  }
}

TEST(RacePatterns, AcquiredByOneLaneOnly) {
  RaceStage stage(2, 1);
  stage.write(0, 0, 1, kGlobal);
  stage.strong_write(0, 0, kCounter, kGlobal, Order::release);
  stage.strong_read(1, 0, kCounter, kGlobal, Order::acquire);
  stage.read(1, 0, 1, kGlobal);
  EXPECT_EQ(stage.found(), 0u);
  stage.read(1, 5, 1, kGlobal);
  EXPECT_EQ(stage.found(), 1u);
  stage.warp_sync(1, 0);
  stage.read(1, 5, 1, kGlobal);
  EXPECT_EQ(stage.found(), 1u);
}

std::uint64_t spin_lock(bool shared, bool fences) {
  RaceStage stage(shared ? 1 : 3, 2);
  for (std::uint32_t turn = 0; turn < 40; ++turn) {
    const std::uint32_t block = shared ? 0 : turn % 3, thread = turn * 7 % 64;
    stage.update(block, thread, 9, shared);  // atomicCAS
    if (fences) stage.fence(block, thread);
    stage.read(block, thread, 3, shared);
    stage.write(block, thread, 3, shared);
    if (fences) stage.fence(block, thread);
    stage.update(block, thread, 9, shared);  // atomicExch
  }
  return stage.found();
}

TEST(RacePatterns, SpinLock) {
  for (const bool shared : {true, false}) {
    EXPECT_EQ(spin_lock(shared, true), 0u);
    EXPECT_GT(spin_lock(shared, false), 0u);
  }
}

TEST(RacePatterns, AFlagInSharedMemory) {
  for (const Scope scope : {Scope::cta, Scope::gpu}) {
    RaceStage stage(1, 2);
    stage.write(0, 0, 1);
    stage.fence(0, 0, scope);
    stage.strong_write(0, 0, 2, true);
    stage.strong_read(0, 32, 2, true);
    stage.fence(0, 32, scope);
    stage.read(0, 32, 1);
    EXPECT_EQ(stage.found(), 0u);
    stage.write(0, 33, 1);
    EXPECT_EQ(stage.found(), 1u);
  }
}

TEST(RacePatterns, AtomicCountersReadByTheLastBlock) {
  for (const bool fence : {true, false}) {
    RaceStage stage(20, 2);
    for (std::uint32_t block = 0; block < 20; ++block) {
      for (std::uint32_t thread = 0; thread < 64; thread += 3) stage.update(block, thread, thread % 8);
      stage.barrier(block);
      if (fence) stage.fence(block, 0);
      stage.update(block, 0, kCounter);
      if (fence) stage.fence(block, 0);
      stage.barrier(block);
    }
    for (std::uint32_t thread = 0; thread < 8; ++thread) stage.read(19, 32 + thread, thread, kGlobal);
    EXPECT_EQ(stage.found(), fence ? 0u : 8u);
  }
}

TEST(RacePatterns, ManyBlocksAreNotSlow) {
  constexpr std::uint32_t kBlocks = 10000;
  RaceStage stage(kBlocks, 1, kAllLanes, 64, 65536);
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    stage.write(block, 0, block + 2000, kGlobal);
    stage.fence(block, 0);
    stage.update(block, 0, kCounter);
    stage.barrier(block);
  }
  stage.fence(kBlocks - 1, 0);
  stage.warp_sync(kBlocks - 1, 0);
  for (std::uint32_t block = 0; block < kBlocks; ++block)
    stage.read(kBlocks - 1, block % 32, block + 2000, kGlobal);
  EXPECT_EQ(stage.found(), 0u);
}

// Each block knows all before it, and a location keeps that: whole copies would be gigabytes.
TEST(RacePatterns, ALongChainIsNotLarge) {
  constexpr std::uint32_t kBlocks = 30000;
  RaceStage stage(kBlocks, 1, kAllLanes, 64, 2 * kBlocks);
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    if (block > 0) stage.strong_read(block, 0, kBlocks + block - 1, kGlobal, Order::acquire);
    stage.read(block, 0, block / 2, kGlobal);
    stage.write(block, 0, block, kGlobal);
    stage.strong_write(block, 0, kBlocks + block, kGlobal, Order::release);
  }
  EXPECT_EQ(stage.found(), 0u);
  stage.read(0, 0, kBlocks - 1, kGlobal);
  EXPECT_EQ(stage.found(), 1u);
}

// Warps that poll: what is skipped as nothing new must be that.
TEST(RacePatterns, PollingTakesWhatIsNew) {
  constexpr std::uint64_t kFlag = 64, kData = 128;
  RaceStage stage(2, 1);
  for (int i = 0; i < 5; ++i) stage.strong_read(0, 0, kFlag);
  stage.fence(0, 0);
  for (int i = 0; i < 5; ++i) stage.update(0, 0, kFlag);
  stage.write(1, 0, kData, false);
  stage.strong_write(1, 0, kFlag, false, Order::release);
  stage.update(0, 0, kFlag);
  stage.fence(0, 0);
  stage.read(0, 0, kData, false);
  EXPECT_EQ(stage.found(), 0u);
  for (int i = 0; i < 5; ++i) stage.update(0, 0, kFlag);
  stage.write(0, 0, kData, false);  // and the other way, through the place it has polled before
  stage.fence(0, 0);
  stage.update(0, 0, kFlag);
  stage.strong_read(1, 0, kFlag);
  stage.fence(1, 0);
  stage.read(1, 0, kData, false);
  EXPECT_EQ(stage.found(), 0u);
}

TEST(RacePatterns, PollingLanesTakeFromEachOther) {
  constexpr std::uint64_t kFlag = 64, kData = 128;
  for (const int times : {1, 2}) {
    RaceStage stage(1, 1);
    stage.write(0, 1, kData, false);
    stage.fence_lanes(0, 0, 3, Scope::gpu);
    RaceStage::How how;
    how.shared = false;
    how.reads = how.writes = true;
    how.order = Order::relaxed;
    for (int i = 0; i < times; ++i)
      stage.access(
          0, 0, 3, [](int) { return kFlag * 4; }, how);
    stage.fence(0, 0);
    stage.read(0, 0, kData, false);
    EXPECT_EQ(stage.found() == 0, times == 2);  // lane 0 goes first: it finds lane 1's the second time
  }
}

TEST(RacePatterns, AReadAfterTheReleaseIsNotTheOneBeforeIt) {
  constexpr std::uint64_t kFlag = 64, kData = 128;
  for (const bool again : {false, true}) {
    RaceStage stage(2, 1);
    stage.fence(0, 0);
    stage.fence(1, 0);
    stage.read(0, 0, kData, false);
    stage.strong_write(0, 0, kFlag, false, Order::release);
    if (again) stage.read(0, 0, kData, false);
    stage.strong_read(1, 0, kFlag, false, Order::acquire);
    stage.write(1, 0, kData, false);
    EXPECT_EQ(stage.found() != 0, again);
  }
}

}  // namespace
}  // namespace gpuforge::sim
