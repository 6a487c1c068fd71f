// Code that is right and looks suspicious: no finding under any schedule, and the right result.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include "gpuforge/base/environment.h"
#include "gpuforge/jit/jit.h"
#include "tests/sim/seeded_bug.h"

namespace gpuforge::sim_bugs {
namespace {

Case of(std::string file, std::string kernel, std::uint32_t blocks, std::uint32_t threads, std::size_t out,
        std::size_t in, std::uint32_t n) {
  return {.file = std::move(file),
          .kernel = std::move(kernel),
          .geometry = {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}},
          .out = Words(out),
          .in = numbered(in),
          .n = n};
}
Case warps(std::string kernel, std::uint32_t count, std::uint32_t threads, std::size_t out, std::size_t in,
           std::uint32_t n = 0) {
  return of("legal_warps.cu", std::move(kernel), count, threads, out, in, n);
}
Case blocks(std::string kernel, std::uint32_t count, std::uint32_t threads, std::size_t out, std::size_t in,
            std::uint32_t n = 0) {
  return of("legal_blocks.cu", std::move(kernel), count, threads, out, in, n);
}
Case grids(std::string kernel, std::uint32_t count, std::uint32_t threads, std::size_t out, std::size_t in,
           std::uint32_t n = 0) {
  return of("legal_grids.cu", std::move(kernel), count, threads, out, in, n);
}

Words reversed(const Words& words) {
  return {words.rbegin(), words.rend()};
}

TEST(SimBugsLegal, WarpExchangeWithSyncwarp) {
  Case one = warps("warp_exchange", 1, 32, 32, 32);
  for (std::uint32_t i = 0; i < 32; ++i) one.in[i] = i * 37 % 64;
  Words expected = one.in;
  std::sort(expected.begin(), expected.end());
  check_silent(one, expected);
}

TEST(SimBugsLegal, TilesOfAWarp) {
  const Case one = warps("tiles", 1, 64, 64, 64);
  Words expected(64);
  for (std::uint32_t i = 0; i < 64; ++i) {
    const std::uint32_t width = i < 32 ? 8 : 16;
    for (std::uint32_t j = 0; j < width; ++j) expected[i] += one.in[i / width * width + j];
  }
  check_silent(one, expected);
}

TEST(SimBugsLegal, GridBarrierByHand) {
  check_silent(grids("grid_sync", 4, 64, 9, 4), {4, 1, 2, 3, 4, 4, 3, 2, 1});
}

TEST(SimBugsLegal, LookBack) {
  const Case one = grids("look_back", 6, 32, 2 + 18, 6);
  Words expected(20);
  expected[0] = 6;
  for (std::uint32_t i = 0; i < 6; ++i) {
    const std::uint32_t sum = (i + 1) * (i + 2) / 2;
    expected[2 + 2 * i] = expected[14 + i] = sum;
    expected[3 + 2 * i] = 2;
  }
  check_silent(one, expected);
}

TEST(SimBugsLegal, LookBackWithFences) {
  check_silent(grids("look_back_fenced", 6, 1, 13, 6), {6, 1, 1, 1, 1, 1, 1, 1, 3, 6, 10, 15, 21});
}

TEST(SimBugsLegal, ReductionOfTheGuide) {
  check_silent(grids("guide_reduction", 4, 64, 6, 4), {10, 4, 1, 2, 3, 4});
}

TEST(SimBugsLegal, LockInAWarp) {
  check_silent(blocks("lock_in_warp", 2, 32, 2, 1), {0, 2 * 31 * 32 / 2});
}

TEST(SimBugsLegal, HistogramWithSharedAtomics) {
  Words expected(16, 6);
  for (const std::uint32_t extra : {1, 2, 3, 4}) expected[extra] = 7;
  check_silent(blocks("histogram", 2, 32, 16, 100, 100), expected);
}

TEST(SimBugsLegal, OneValueByManyThreads) {
  check_silent(blocks("same_value", 3, 64, 1, 64), {1});
}

TEST(SimBugsLegal, FlagBetweenBarriers) {
  check_silent(blocks("flag_between_barriers", 1, 64, 64, 1), filled(64, 2));
}

TEST(SimBugsLegal, ProducerAndConsumer) {
  const Case one = blocks("producer_consumer", 1, 64, 32, 160, 5);
  Words expected(32);
  for (std::uint32_t i = 0; i < 5; ++i)
    for (std::uint32_t lane = 0; lane < 32; ++lane) expected[lane] += one.in[i * 32 + 31 - lane];
  check_silent(one, expected);
}

TEST(SimBugsLegal, BytesOfAWord) {
  Words expected(32);
  for (std::uint32_t i = 0; i < 64; ++i) expected[i / 4] |= (i + 1) << (8 * (i % 4));
  std::copy_n(expected.begin(), 16, expected.begin() + 16);
  check_silent(blocks("bytes_of_words", 1, 64, 32, 64), expected);
}

TEST(SimBugsLegal, StoresOfMixedWidths) {
  Words expected(64);
  for (std::uint32_t i = 0; i < 64; ++i) expected[i] = (32 - i % 32) * 0x10001u;
  check_silent(blocks("mixed_widths", 1, 64, 64, 32), expected);
}

TEST(SimBugsLegal, EarlyExit) {
  Words expected(128);
  for (std::uint32_t i = 0; i < 40; ++i) expected[i] = i + 1 + (i < 32 ? 32 : 8);
  check_silent(warps("early_exit", 1, 128, 128, 128, 40), expected);
}

// NVRTC unrolls the loop, so that lanes meet in one shuffle from two places.
TEST(SimBugsLegal, DivergentLoopWithShuffles) {
  const Case one = warps("divergent_loop", 1, 32, 32, 32);
  Words left(32), expected(32);
  for (std::size_t i = 0; i < 32; ++i) left[i] = one.in[i] % 5;
  for (int round = 0; round < 4; ++round) {
    const auto leader = std::find_if(left.begin(), left.end(), [](std::uint32_t value) { return value > 0; });
    if (leader == left.end()) break;
    const std::uint32_t shown = *leader;
    for (std::size_t i = 0; i < 32; ++i)
      if (left[i] > 0) {
        expected[i] += shown;
        --left[i];
      }
  }
  check_silent(one, expected);
}

TEST(SimBugsLegal, AtomicsOfWhoeverIsHere) {
  check_silent(warps("aggregated", 1, 64, 2, 64), {21, 20 * 21 / 2});
}

TEST(SimBugsLegal, StructuresWithPadding) {
  Words expected(32);
  for (std::uint32_t i = 0; i < 32; ++i) {
    const std::uint32_t kind = (i + 1) % 4;
    expected[31 - i] = kind * 1000000 + (i + 1 + kind) * 1000 + kind * 2;
  }
  check_silent(warps("padded_copy", 1, 32, 32, 32, 1), expected);
}

// The value read from a lane that takes no part would be reported where it is used.
TEST(SimBugsLegal, ShuffleBeyondHalfAWarp) {
  check_silent(warps("half_warp_tail", 1, 32, 1, 32), {16 * 17 / 2});
}

TEST(SimBugsLegal, SharedMemoryUsedTwice) {
  check_silent(blocks("reuse", 1, 64, 64, 64), numbered(64));
}

TEST(SimBugsLegal, SetWhereUsed) {
  Words expected(32);
  for (std::uint32_t i = 0; i < 32; ++i) expected[i] = (i + 1) % 2 == 0 ? 2 * (i + 1) : 1;
  check_silent(warps("set_where_used", 1, 32, 32, 32, 3), expected);
}

TEST(SimBugsLegal, ValuesOfAWarp) {
  const Case one = warps("warp_values", 1, 32, 32, 32);
  Words expected(32);
  std::uint32_t thirds = 0;
  for (std::uint32_t i = 0; i < 32; ++i) thirds |= (one.in[i] % 3 == 0 ? 1u : 0u) << i;
  for (std::uint32_t i = 0; i < 32; ++i) {
    std::uint32_t same = 0;
    for (std::uint32_t j = 0; j < 32; ++j) same |= (one.in[j] / 8 == one.in[i] / 8 ? 1u : 0u) << j;
    expected[i] = thirds + same + 32 * 33 / 2 + 2 + 0xffffffffu + 0xffffffffu + 16 + 1;
  }
  check_silent(one, expected);
}

TEST(SimBugsLegal, PollingWithAtomicsAndAcquire) {
  check_silent(grids("poll_with_atomics", 2, 1, 5, 1), {1, 1, 2, 1, 3});
}

TEST(SimBugsLegal, ShuffleFromTwoBranches) {
  Words expected(32);
  for (std::uint32_t i = 0; i < 32; ++i) expected[i] = i < 16 ? (i + 17) * 5 + 1 : (i - 15) * 3 + 2;
  check_silent(warps("shuffle_from_two_branches", 1, 32, 32, 32), expected);
}

TEST(SimBugsLegal, SyncwarpFromTwoBranches) {
  Words expected(32);
  for (std::uint32_t i = 0; i < 32; ++i) expected[i] = i < 16 ? (32 - i) * 2 + 1 : 32 - i + 2;
  check_silent(warps("syncwarp_from_two_branches", 1, 32, 32, 32), expected);
}

TEST(SimBugsLegal, BarrierFromTwoBranches) {
  Words expected(64);
  for (std::uint32_t i = 0; i < 64; ++i) expected[i] = 64 - i + (i < 32 ? 1 : 2);
  check_silent(blocks("barrier_from_two_branches", 1, 64, 64, 64), expected);
}

TEST(SimBugsLegal, BarrierAfterSomeReturned) {
  for (const std::uint32_t n :
       {40u, 64u, 33u}) {  // part of a warp and a whole one, two warps, all but one lane
    Words expected(128);
    for (std::uint32_t i = 0; i < n; ++i) expected[i] = n - i;
    check_silent(blocks("barrier_after_return", 1, 128, 128, 128, n), expected);
  }
}

TEST(SimBugsLegal, BarrierInAFunction) {
  Words expected = reversed(numbered(64, 2));
  for (std::size_t i = 0; i < 64; i += 2) std::swap(expected[i], expected[i + 1]);
  check_silent(blocks("barrier_in_function", 1, 64, 64, 64), expected);
}

TEST(SimBugsLegal, FlagInSharedMemory) {
  check_silent(blocks("shared_flag", 1, 64, 32, 32), reversed(numbered(32)));
}

TEST(SimBugsLegal, BarriersThatVote) {
  Words expected(64);
  for (std::uint32_t i = 0; i < 64; ++i) expected[i] = 64 - (i ^ 32) + 1 + 100 + 4000;
  check_silent(blocks("voting_barriers", 1, 64, 64, 64), expected);
}

TEST(SimBugsLegal, AcquireAndRelease) {
  check_silent(grids("acquire_lock", 4, 32, 2, 4), {0, 10});
  check_silent(grids("release_chain", 4, 1, 6, 4), {4, 0, 1, 3, 6, 10});
}

TEST(SimBugsLegal, TicketLock) {
  check_silent(grids("ticket_lock", 5, 1, 3, 5), {5, 5, 15});
}

TEST(SimBugsLegal, HandedOnByAnotherBlock) {
  check_silent(grids("hand_on", 3, 1, 4, 1), {1, 1, 7, 7});
}

TEST(SimBugsLegal, FencesAndBarriers) {
  Words expected(129);
  expected[0] = 1;
  for (std::uint32_t i = 0; i < 64; ++i) expected[1 + i] = expected[128 - i] = i + 1;
  check_silent(grids("fence_of_one", 2, 64, 129, 64), expected);
  check_silent(grids("fences_of_all", 2, 64, 129, 64), expected);
}

TEST(SimBugsLegal, BarrierOfReleasesAndAcquires) {
  Words expected(1 + 3 * 64);
  expected[0] = 6;
  for (std::uint32_t i = 0; i < 3 * 64; ++i) expected[1 + i] = 64 - i % 64 + (i / 64 + 1) % 3;
  check_silent(grids("release_barrier", 3, 64, 1 + 3 * 64, 64), expected);
}

TEST(SimBugsLegal, PlacesFromACounter) {
  Words expected = filled(33, 7);
  expected[0] = 32;
  check_silent(grids("places", 2, 64, 33, 128), expected);
}

TEST(SimBugsLegal, ReleaseAndAcquireInABlock) {
  check_silent(blocks("release_in_block", 1, 64, 32, 32), reversed(numbered(32)));
}

TEST(SimBugsLegal, TwoWarpsForTwoOthers) {
  const Case one = blocks("two_and_two", 1, 128, 64, 5 * 64, 5);
  Words expected(64);
  for (std::uint32_t i = 0; i < 5; ++i)
    for (std::uint32_t thread = 0; thread < 64; ++thread) expected[thread] += one.in[i * 64 + 63 - thread];
  check_silent(one, expected);
}

TEST(SimBugsLegal, CacheOperators) {
  Words expected(96);
  for (std::uint32_t i = 0; i < 96; ++i) expected[i] = 2 * (i % 32 + 1);
  check_silent(grids("cache_operators", 1, 32, 96, 32), expected);
}

TEST(SimBugsLegal, PartOfAVector) {
  Words expected(32);
  for (std::uint32_t i = 0; i < 32; ++i) expected[i] = 32 - i + 3;
  check_silent(warps("part_of_a_vector", 1, 32, 32, 32), expected);
}

// What a warp uses counts against the limit, not what it was given.
TEST(SimBugsLegal, ManyBlocks) {
  Case one = grids("many_blocks", 70000, 32, 1, 1);
  one.step_limit = sim::Options().step_limit;
  check_silent(one, {1});
}

// and.pred with one side false does not depend on the other.
TEST(SimBugsLegal, DecidedWithoutIt) {
  check_silent(warps("decided_without_it", 1, 32, 32, 32, 20), filled(32, 0x000ffc00));
}

// Compilers write the words of atomics in several orders.
TEST(SimBugsLegal, FormsOfAtomics) {
  check_silent(grids("atomic_forms", 2, 32, 6, 32), {64, 8, 5, 2, 528, 528});
}

TEST(SimBugsLegal, CooperativeGroups) {
  bool found = false;
  for (const auto& folder : jit::toolkit_include_dirs(cuda::search_options(read_environment())))
    found = found || std::filesystem::exists(folder / "cooperative_groups.h");
  if (!found) GTEST_SKIP() << "cooperative_groups.h is not on this machine: it comes with the CUDA toolkit";
  Case one = blocks("groups", 1, 64, 64, 64, 1000);
  one.file = "cooperative_groups.cu";
  Words expected(64);
  for (std::uint32_t i = 0; i < 64; ++i) {
    for (std::uint32_t j = i / 8 * 8; j < i / 8 * 8 + 8; ++j) expected[i] += 64 - j;
    if (i / 8 % 2 == 0) expected[i] *= 3;
  }
  for (std::uint32_t i = 0; i < 64; ++i)
    if ((i + 1) % 3 == 0) expected[i] += (i < 32 ? 10 : 11) * 1000;
  check_silent(one, expected);
}

}  // namespace
}  // namespace gpuforge::sim_bugs
