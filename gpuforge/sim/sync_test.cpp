// Waiting for others: barriers, .sync instructions, and what is wrong with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/sim/run_for_tests.h"

namespace gpuforge::sim {
namespace {

using testing::Each;
using testing::HasSubstr;

std::string kernel(const std::string& body, int parameters = 1) {
  return module_text(std::string(kOwnWord) + body, parameters, ".shared .align 4 .b8 s[4096];");
}

// s[tid] = tid; barrier; out[tid] = s[n - 1 - tid]
std::string exchange(const std::string& barrier, int threads) {
  return kernel(format_text(
      "mov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; st.shared.u32 [%r3], %r0;\n"
      "{}\n"
      "sub.u32 %r4, {}, %r0; shl.b32 %r4, %r4, 2; add.u32 %r4, %r1, %r4; ld.shared.u32 %r5, [%r4];\n"
      "st.global.u32 [%d0], %r5; ret;",
      barrier, threads - 1));
}

TEST(SimSync, BarriersOrderSharedMemory) {
  for (const char* barrier :
       {"bar.sync 0;", "barrier.sync 3;", "bar.sync 1, 128;", "barrier.sync.aligned 15, 128;",
        "bar.red.popc.u32 %r9, 0, %p1;", "barrier.cta.sync 0;"}) {
    TestRun test(exchange(std::string("setp.lt.u32 %p1, %r0, 5;\n") + barrier, 128));
    const auto& out = test.words(128);
    const LaunchReport report = test.run({1, 1, 1}, {128, 1, 1});
    EXPECT_TRUE(report.clean()) << barrier << "\n" << report.text();
    for (std::uint32_t i = 0; i < 128; ++i) ASSERT_EQ(out[i], 127 - i) << barrier;
  }
}

TEST(SimSync, AMissingBarrierIsARace) {
  TestRun test(exchange("", 128));
  test.words(128);
  const LaunchReport report = test.run({1, 1, 1}, {128, 1, 1});
  ASSERT_GT(report.races(), 0u);
  for (const Finding& finding : report.findings)
    if (finding.kind == FindingKind::race) {
      EXPECT_EQ(finding.space, "shared");
    }
}

TEST(SimSync, ReductionsOverABlock) {
  TestRun test(
      kernel("and.b32 %r1, %r0, 3; setp.eq.u32 %p1, %r1, 0; bar.red.popc.u32 %r2, 0, %p1;\n"
             "bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 0, %p1; bar.red.popc.u32 %r5, 1, 64, !%p1;\n"
             "selp.u32 %r3, 1000, 0, %p2; selp.u32 %r4, 100000, 0, %p3; add.u32 %r2, %r2, %r3; add.u32 %r2, "
             "%r2, %r4;\n"
             "shl.b32 %r5, %r5, 20; add.u32 %r2, %r2, %r5; st.global.u32 [%d0], %r2; ret;"));
  const auto& out = test.words(64);
  EXPECT_TRUE(test.run({1, 1, 1}, {64, 1, 1}).clean());
  EXPECT_THAT(out, Each(16u + 100000u + (48u << 20)));
}

TEST(SimSync, ProducersArriveAndConsumersWait) {
  // Warp 0 writes and arrives; warp 1 waits and reads.
  const std::string body =
      "mov.u32 %r1, s; and.b32 %r2, %r0, 31; shl.b32 %r2, %r2, 2; add.u32 %r3, %r1, %r2; setp.ge.u32 %p1, "
      "%r0, 32;\n"
      "@%p1 bra CONSUME; {} bar.sync 3, 64; ret;\n"
      "CONSUME: bar.sync 2, 64; ld.shared.u32 %r5, [%r3]; st.global.u32 [%d0], %r5; bar.sync 3, 64; ret;";
  TestRun right(kernel(format_text(body, "st.shared.u32 [%r3], %r0; bar.arrive 2, 64;")));
  const auto& out = right.words(64);
  const LaunchReport report = right.run({1, 1, 1}, {64, 1, 1});
  EXPECT_TRUE(report.clean()) << report.text();
  for (std::uint32_t i = 32; i < 64; ++i) EXPECT_EQ(out[i], i - 32);

  TestRun early(kernel(format_text(body, "bar.arrive 2, 64; st.shared.u32 [%r3], %r0;")));
  early.words(64);
  EXPECT_GT(early.run({1, 1, 1}, {64, 1, 1}).races(), 0u);
}

TEST(SimSync, PartOfAWarpAtAnAlignedBarrier) {
  TestRun test(kernel("setp.lt.u32 %p1, %r0, 16; @%p1 bar.sync 0; @!%p1 bar.sync 0; ret;"));
  test.words(32);
  const LaunchReport report = test.run();
  EXPECT_EQ(report.count(FindingKind::barrier), 2u) << report.text();
  EXPECT_THAT(report.findings[0].message, HasSubstr("lanes 0xffff"));
}

TEST(SimSync, PartOfAWarpAtABarrierThatAllowsIt) {
  TestRun test(kernel("setp.lt.u32 %p1, %r0, 16; @%p1 barrier.sync 0; @!%p1 barrier.sync 0; ret;"));
  test.words(32);
  EXPECT_TRUE(test.run().clean());
}

TEST(SimSync, ABarrierWaitsForThreadsThatHaveNotExited) {
  for (const int left : {40, 32, 1})
    for (const char* barrier : {"bar.sync 0;", "barrier.sync 0;", "bar.red.popc.u32 %r1, 0, %p1;"}) {
      TestRun test(kernel(format_text("setp.ge.u32 %p1, %r0, {}; @%p1 exit; {} st.global.u32 [%d0], 5; ret;",
                                      left, barrier)));
      const auto& out = test.words(64);
      const LaunchReport report = test.run({1, 1, 1}, {64, 1, 1});
      EXPECT_TRUE(report.clean()) << barrier << "\n" << report.text();
      EXPECT_EQ(out[0], 5u);
    }
}

TEST(SimSync, ExitedThreadsAtABarrierThatCountsThem) {
  TestRun test(kernel("setp.ge.u32 %p1, %r0, 32; @%p1 exit; bar.sync 1, 64; ret;"));
  test.words(64);
  const LaunchReport report = test.run({1, 1, 1}, {64, 1, 1});
  ASSERT_EQ(report.findings.size(), 1u) << report.text();
  EXPECT_EQ(report.findings[0].kind, FindingKind::barrier);
  EXPECT_EQ(report.findings[0].message,
            "barrier 1 expects 64 threads and 32 came: 32 of the block's 64 threads have exited");
}

TEST(SimSync, WrongCounts) {
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"bar.sync 16;", "barriers 0 to 15"},
           {"bar.sync 0, 48;", "multiple of 32"},
           {"bar.sync 0, 0;", "multiple of 32"},
           {"setp.lt.u32 %p1, %r0, 32; @%p1 bar.sync 0, 64; @!%p1 bar.sync 0; ",
            "by threads that came before"}}) {
    TestRun test(kernel(text + " ret;"));
    test.words(64);
    const LaunchReport report = test.run({1, 1, 1}, {64, 1, 1});
    ASSERT_FALSE(report.clean()) << text;
    EXPECT_THAT(report.findings[0].message, HasSubstr(words));
  }
}

TEST(SimSync, DeadlocksSayWhoWaitsWhere) {
  TestRun test(kernel("setp.lt.u32 %p1, %r0, 32; @%p1 bra A; bar.sync 1, 64; ret; A: bar.sync 2, 64; ret;"));
  test.words(64);
  const LaunchReport report = test.run({1, 1, 1}, {64, 1, 1});
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::deadlock);
  EXPECT_THAT(report.findings[0].message, HasSubstr("warp 0 (lanes 0xffffffff)"));
  EXPECT_THAT(report.findings[0].message, HasSubstr("bar.sync 1, 64"));
}

TEST(SimSync, LanesThatSpinForOneThatWaitsForThem) {
  // Lane 0 would set the flag behind the barrier that the spinning lanes never reach.
  TestRun test(
      kernel("setp.lt.u32 %p1, %r0, 16; @%p1 bra LOW;\n"
             "SPIN: ld.volatile.global.u32 %r1, [%d1]; setp.eq.u32 %p2, %r1, 0; @%p2 bra SPIN; bar.warp.sync "
             "-1; ret;\n"
             "LOW: bar.warp.sync -1; st.volatile.global.u32 [%d1], 1; ret;"));
  test.words(32);
  test.options.step_limit = 100'000;
  const LaunchReport report = test.run();
  ASSERT_EQ(report.findings.size(), 1u) << report.text();
  EXPECT_EQ(report.findings[0].kind, FindingKind::step_limit);
  EXPECT_THAT(report.findings[0].place.instruction, HasSubstr("ld.volatile"));
  EXPECT_THAT(report.findings[0].message, HasSubstr("warp 0 (lanes 0xffff) at PTX line"));
}

TEST(SimSync, LanesThatSpinForALaneOfTheirWarp) {
  // The one that holds the lock needs a turn although the others never stop asking for it.
  TestRun test(kernel(
      "AGAIN: atom.global.cas.b32 %r1, [%d1+128], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra AGAIN;\n"
      "membar.gl; ld.volatile.global.u32 %r2, [%d1+132]; add.u32 %r2, %r2, %r0; st.volatile.global.u32 "
      "[%d1+132], %r2; membar.gl;\n"
      "atom.global.exch.b32 %r3, [%d1+128], 0; ret;"));
  const auto& out = test.words(34);
  const LaunchReport report = test.run({4, 1, 1}, {32, 1, 1});
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(out[33], 4u * 31 * 32 / 2);
}

TEST(SimSync, ShufflesWaitForTheLanesOfTheirMask) {
  // Odd lanes take a longer way; all meet at the shuffle.
  TestRun test(
      kernel("and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, %r0; @%p1 bra MEET;\n"
             "add.u32 %r2, %r2, 100;\nMEET: shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1; st.global.u32 [%d0], "
             "%r3; ret;"));
  const auto& out = test.words(32);
  EXPECT_TRUE(test.run().clean());
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], (lane ^ 1) + (lane % 2 == 0 ? 100 : 0));
}

TEST(SimSync, HalvesOfAWarpShuffleOnTheirOwn) {
  TestRun test(
      kernel("setp.lt.u32 %p1, %r0, 16; @%p1 bra LOW;\n"
             "shfl.sync.idx.b32 %r3, %r0, 31, 31, 0xffff0000; bra END;\n"
             "LOW: shfl.sync.idx.b32 %r3, %r0, 0, 31, 0xffff;\nEND: st.global.u32 [%d0], %r3; ret;"));
  const auto& out = test.words(32);
  EXPECT_TRUE(test.run().clean());
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane < 16 ? 0u : 31u);
}

TEST(SimSync, AMaskThatNamesLanesWhichDoNotCome) {
  TestRun test(
      kernel("setp.lt.u32 %p1, %r0, 16; @!%p1 bra OTHER;\n"
             "shfl.sync.idx.b32 %r3, %r0, 0, 31, -1; bra END;\n"
             "OTHER: vote.sync.ballot.b32 %r3, %p1, -1;\nEND: st.global.u32 [%d0], %r3; ret;"));
  test.words(32);
  const LaunchReport report = test.run();
  EXPECT_GT(report.count(FindingKind::warp_sync), 0u);
  EXPECT_THAT(report.findings[0].message, HasSubstr("wait for the lanes of mask 0xffffffff"));
}

TEST(SimSync, ALaneItsMaskDoesNotName) {
  TestRun test(kernel("bar.warp.sync 0x7fffffff; ret;"));
  test.words(32);
  const LaunchReport report = test.run();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::warp_sync);
  EXPECT_EQ(report.findings[0].thread, (Index3{31, 0, 0}));
}

TEST(SimSync, LanesThatExitedAreNotWaitedFor) {
  TestRun test(
      kernel("setp.ge.u32 %p1, %r0, 20; @%p1 exit; shfl.sync.idx.b32 %r3, %r0, 3, 31, -1; bar.warp.sync -1;\n"
             "st.global.u32 [%d0], %r3; ret;"));
  const auto& out = test.words(32);
  EXPECT_TRUE(test.run().clean());
  for (std::uint32_t lane = 0; lane < 20; ++lane) EXPECT_EQ(out[lane], 3u);
}

TEST(SimSync, WarpBarriersMeetAtDifferentPlaces) {
  TestRun test(
      kernel("mov.u32 %r1, s; xor.b32 %r6, %r0, 16; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; shl.b32 %r7, "
             "%r6, 2; "
             "add.u32 %r7, %r1, %r7; st.shared.u32 [%r3], %r0;\n"
             "setp.lt.u32 %p1, %r0, 16; @%p1 bra LOW; bar.warp.sync -1; ld.shared.u32 %r5, [%r7]; bra END;\n"
             "LOW: bar.warp.sync -1; ld.shared.u32 %r5, [%r7];\nEND: st.global.u32 [%d0], %r5; ret;"));
  const auto& out = test.words(32);
  const LaunchReport report = test.run();
  EXPECT_TRUE(report.clean()) << report.text();
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane ^ 16);
}

TEST(SimSync, ElectChoosesOneLane) {
  TestRun test(
      kernel("elect.sync %r1|%p1, -1; selp.u32 %r2, 7, 0, %p1; add.u32 %r2, %r2, %r1; st.global.u32 [%d0], "
             "%r2; ret;"));
  const auto& out = test.words(32);
  EXPECT_TRUE(test.run().clean());
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane == 0 ? 7u : 0u);
}

}  // namespace
}  // namespace gpuforge::sim
