// Blocks that run together, mbarriers, and what comes to shared memory by itself: what is wrong with them,
// and what is not. The instructions themselves are in tests/ptx.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "gpuforge/base/error.h"
#include "gpuforge/sim/run_for_tests.h"

namespace gpuforge::sim {
namespace {

using testing::Each;
using testing::HasSubstr;

// b: an mbarrier. s: 64 words behind it. %r1 and %r2: their addresses. %r0: the thread. a is the first
// buffer, whose address is %d1; %d0 that of the thread's word.
std::string kernel(const std::string& body, int parameters = 1) {
  return module_text(
      std::string(kOwnWord) + "mov.u32 %r1, b; mov.u32 %r2, s; setp.eq.u32 %p0, %r0, 0;\n" + body + "\nret;",
      parameters, ".shared .align 16 .b8 b[16]; .shared .align 16 .b8 s[256];");
}
constexpr const char* kWait = "W: mbarrier.try_wait.parity.shared.b64 %p9, [%r1], 0;\n@!%p9 bra W;\n";
constexpr const char* kCopy =
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d1], 64, [%r1];\n";
// Of thread 0: the mbarrier for one arrival and 64 bytes.
constexpr const char* kExpect64 =
    "mbarrier.init.shared.b64 [%r1], 1;\nmbarrier.arrive.expect_tx.shared.b64 _, [%r1], 64;\n";
// Block 0 and 1 know that the other one has made its mbarrier. %r3 and %r4: %r1 and %r2 in the other block.
constexpr const char* kMeet =
    "fence.mbarrier_init.release.cluster; barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n"
    "mov.u32 %r5, %cluster_ctarank; xor.b32 %r6, %r5, 1; mapa.shared::cluster.u32 %r3, %r1, %r6;\n"
    "mapa.shared::cluster.u32 %r4, %r2, %r6;\n";
constexpr const char* kSend =
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r4], %r0, [%r3];\n";

struct Wrong {
  std::string body;
  FindingKind kind;
  const char* message;
};

Finding only_finding(const LaunchReport& report) {
  EXPECT_EQ(report.findings.size(), 1u) << report.findings_text();
  return report.findings.empty() ? Finding{} : report.findings.front();
}

void expect_wrong(const Wrong& wrong, std::uint32_t blocks = 1) {
  SCOPED_TRACE(wrong.body);
  TestRun test(kernel(wrong.body));
  test.words(32);
  test.cluster = {blocks, 1, 1};
  const Finding found = only_finding(test.run({blocks, 1, 1}, {1, 1, 1}));
  EXPECT_EQ(name(found.kind), name(wrong.kind));
  EXPECT_THAT(found.message, HasSubstr(wrong.message));
}

TEST(SimArrivals, WhatIsWrongWithAnMbarrier) {
  using enum FindingKind;
  const std::string init = "mbarrier.init.shared.b64 [%r1], 1;\n";
  for (const Wrong& wrong : {
           Wrong{"mbarrier.init.shared.b64 [%r1], 0;", barrier, "is for 1 to 1048575 arrivals, found 0"},
           Wrong{"mbarrier.init.shared.b64 [%r1], 1048576;", barrier, "found 1048576"},
           Wrong{"mbarrier.init.shared.b64 [%r1+4], 1;", misaligned, "multiple of 8"},
           Wrong{"mbarrier.init.shared.b64 [%r2+256], 1;", out_of_bounds,
                 "outside the block's shared memory"},
           Wrong{"mbarrier.init.b64 [%d1], 1;", barrier, "this address is one of global memory"},
           Wrong{init + init, barrier, "there is an mbarrier at offset 0 already"},
           Wrong{"mbarrier.inval.shared.b64 [%r1];", barrier, "no mbarrier.init has made one yet"},
           Wrong{init + "mbarrier.inval.shared.b64 [%r1]; mbarrier.arrive.shared.b64 _, [%r1];", barrier,
                 "there is no mbarrier at offset 0"},
           Wrong{init + "mbarrier.arrive.shared.b64 _, [%r1], 2;", barrier, "waits for 1 more of 1"},
           Wrong{init + "mbarrier.arrive.shared.b64 _, [%r1], 0;", barrier, "0 arrivals"},
           Wrong{init + "mbarrier.expect_tx.shared.b64 [%r1], 1048576;", barrier, "up to 1048575 bytes"},
           Wrong{init + "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 2;", barrier,
                 "parity 0 or 1, found 2"},
           Wrong{init + "mov.u64 %d3, 5; mbarrier.test_wait.shared.b64 %p1, [%r1], %d3;", barrier,
                 "no state"},
       })
    expect_wrong(wrong);
}

TEST(SimArrivals, WhatIsWrongWithACopy) {
  using enum FindingKind;
  const std::string start = kExpect64;
  const auto copy = [](const char* to, const char* from, const char* bytes, const char* counter) {
    return format_text(
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [{}], [{}], {}, [{}];\n", to, from,
        bytes, counter);
  };
  for (const Wrong& wrong : {
           Wrong{start + copy("%r2", "%d1", "40", "%r1"), misaligned, "a multiple of 16 bytes, found 40"},
           Wrong{start + "add.u64 %d1, %d1, 8;" + copy("%r2", "%d1", "64", "%r1"), misaligned,
                 "multiple of 16"},
           Wrong{start + "add.u32 %r2, %r2, 4;" + copy("%r2", "%d1", "64", "%r1"), misaligned,
                 "multiple of 16"},
           Wrong{start + "add.u32 %r2, %r2, 208;" + copy("%r2", "%d1", "64", "%r1"), out_of_bounds,
                 "outside the block's shared memory"},
           Wrong{start + "add.u64 %d1, %d1, 80;" + copy("%r2", "%d1", "64", "%r1"), out_of_bounds,
                 "with 16 bytes past the end of buffer 0"},
           Wrong{start + copy("%r2", "%d1", "64", "%r2"), barrier, "there is no mbarrier at offset 16"},
           Wrong{start + kCopy + "mbarrier.inval.shared.b64 [%r1];\n" +
                     "add.u32 %r3, %r1, 8; mbarrier.init.shared.b64 [%r3], 1;\n" +
                     "V: mbarrier.try_wait.parity.shared.b64 %p9, [%r3], 0;\n@!%p9 bra V;",
                 barrier, "is no more when they arrive"},
           Wrong{start + kCopy, use_after_free, "64 bytes are on their way to offset 16"},
           Wrong{start + kCopy + "st.shared.u32 [%r2], 1;\n" + kWait, race,
                 "where something else was written"},
           Wrong{start + kCopy + "ld.shared.u32 %r9, [%r2+60];\n" + kWait, race,
                 "that are still on their way"},
       })
    expect_wrong(wrong);
}

TEST(SimArrivals, WhatIsWrongBetweenBlocks) {
  using enum FindingKind;
  const std::string init =
      "mbarrier.init.shared.b64 [%r1], 1; mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 4;\n";
  const std::string meet = init + kMeet;
  for (const Wrong& wrong : {
           Wrong{meet + "mapa.shared::cluster.u32 %r7, %r2, 2;", out_of_bounds,
                 "block 2 of a cluster, which has 2"},
           Wrong{meet + "mov.u32 %r4, 0x05000000;" + kSend, out_of_bounds,
                 "block 4 of a cluster, which has 2"},
           Wrong{meet + "mov.u32 %r3, %r1;" + kSend, barrier, "and the mbarrier is one of block"},
           Wrong{meet + "add.u32 %r4, %r4, 2;" + kSend, misaligned, "multiple of 4"},
           Wrong{meet + "add.u32 %r4, %r4, 256;" + kSend, out_of_bounds, "outside the block's shared memory"},
           Wrong{meet + "setp.ne.u32 %p1, %r5, 0; @%p1 bra END;\n" +
                     "mov.u32 %r9, 0; L: add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 100000; @%p2 bra L;\n" +
                     kSend + kWait + "END:",
                 use_after_free, "which has ended"},
           Wrong{meet + "barrier.cluster.arrive; barrier.cluster.arrive;", barrier,
                 "arrives at the cluster's barrier again"},
           Wrong{meet + "barrier.cluster.wait;", barrier, "and has not arrived there"},
       })
    expect_wrong(wrong, 2);
}

TEST(SimArrivals, ADeadlockSaysWhatIsMissing) {
  expect_wrong({"mbarrier.init.shared.b64 [%r1], 2; mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 12;\n" +
                    std::string(kWait),
                FindingKind::deadlock, "the mbarrier at offset 0 waits for 1 of 2 arrivals and 12 bytes"});
}

TEST(SimArrivals, WhatACopyBringsWasWrittenWhereItsSourceWas) {
  const std::string body = "@!%p0 bra W;\n" + std::string(kExpect64) + kCopy + "W: bar.sync 0;\n" +
                           "V: mbarrier.try_wait.parity.shared.b64 %p9, [%r1], 0;\n@!%p9 bra V;\n" +
                           "shl.b32 %r8, %r0, 2; add.u32 %r8, %r8, %r2; ld.shared.u32 %r9, [%r8];\n" +
                           "ld.param.u64 %d3, [b]; mul.wide.u32 %d4, %r0, 4; add.u64 %d3, %d3, %d4;\n" +
                           "st.global.u32 [%d3], %r9;";
  for (const bool initialized : {true, false}) {
    TestRun test(kernel(body, 2));
    auto& in = test.words(16, initialized);
    std::iota(in.begin(), in.end(), 7u);
    const auto& out = test.words(16);
    const LaunchReport report = test.run({1, 1, 1}, {16, 1, 1});
    EXPECT_EQ(report.clean(), initialized) << report.text();
    if (!initialized) {
      EXPECT_EQ(only_finding(report).kind, FindingKind::uninitialized);
    }
    EXPECT_EQ(out, in);
    std::uint64_t sectors = 0;
    for (const SiteReport& site : report.sites)
      if (site.place.instruction.starts_with("cp.async.bulk")) sectors += site.counters.sectors;
    EXPECT_EQ(sectors, 2u + (reinterpret_cast<std::uintptr_t>(in.data()) % 32 != 0 ? 1u : 0u));
  }
}

TEST(SimArrivals, EverySectorOfALongCopyIsCountedOnce) {
  TestRun test(module_text(
      "ld.param.u64 %d1, [a]; mov.u32 %r1, b; mov.u32 %r2, s; mbarrier.init.shared.b64 [%r1], 1;\n"
      "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 8000;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d1], 8000, [%r1];\n" +
          std::string(kWait) + "ret;",
      1, ".shared .align 16 .b8 b[16]; .shared .align 16 .b8 s[8192];"));
  const auto address = reinterpret_cast<std::uintptr_t>(test.words(2000).data());
  const LaunchReport report = test.run({1, 1, 1}, {1, 1, 1});
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(report.least_read_sectors, (address + 8000 - 1) / 32 - address / 32 + 1);
}

// Each block of a cluster of 16 sends its number to every block; and all of them on several grids and orders.
TEST(SimArrivals, EveryBlockHearsFromEveryOther) {
  const std::string body =
      "@!%p0 bra M; mbarrier.init.shared.b64 [%r1], 1; mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 64;\n"
      "fence.mbarrier_init.release.cluster; M: barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n"
      "mov.u32 %r5, %cluster_ctarank; shl.b32 %r6, %r5, 2; add.u32 %r6, %r6, %r2;\n"
      "mapa.shared::cluster.u32 %r4, %r6, %r0; mapa.shared::cluster.u32 %r3, %r1, %r0; mov.u32 %r7, "
      "%ctaid.x;\n"
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r4], %r7, [%r3];\n" +
      std::string(kWait) +
      "shl.b32 %r8, %r0, 2; add.u32 %r8, %r8, %r2; ld.shared.u32 %r9, [%r8];\n"
      "mad.lo.u32 %r7, %r7, 16, %r0; mul.wide.u32 %d3, %r7, 4; add.u64 %d3, %d3, %d1; st.global.u32 [%d3], "
      "%r9;";
  for (const std::uint64_t seed : {0u, 1u, 2u, 3u}) {
    TestRun test(kernel(body));
    auto& out = test.words(48 * 16);
    test.cluster = {16, 1, 1};
    test.options.schedule_seed = seed;
    const LaunchReport report = test.run({48, 1, 1}, {16, 1, 1});
    EXPECT_TRUE(report.clean()) << report.text();
    EXPECT_EQ(report.cluster, (Index3{16, 1, 1}));
    for (std::uint32_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i / 256 * 16 + i % 16) << seed;
  }
}

TEST(SimArrivals, ExitedThreadsAndBlocksAreNotWaitedForAtTheClustersBarrier) {
  TestRun test(
      kernel("mov.u32 %r5, %cluster_ctarank; setp.gt.u32 %p1, %r5, 1; @%p1 exit; setp.gt.u32 %p2, %r0, 40; "
             "@%p2 exit;\nbarrier.cluster.arrive; barrier.cluster.wait; atom.global.add.u32 %r9, [%d1], 1;"));
  const auto& out = test.words(1);
  test.cluster = {4, 1, 1};
  const LaunchReport report = test.run({8, 1, 1}, {64, 1, 1});
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(out.front(), 2u * 2 * 41);
}

// A block by itself is a cluster of one.
TEST(SimArrivals, ABlockAloneHasABarrierOfItsCluster) {
  TestRun test(kernel(
      "shl.b32 %r8, %r0, 2; add.u32 %r8, %r8, %r2; st.shared.u32 [%r8], %r0;\n"
      "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; xor.b32 %r9, %r0, 32;\n"
      "shl.b32 %r9, %r9, 2; add.u32 %r9, %r9, %r2; ld.shared.u32 %r7, [%r9]; st.global.u32 [%d0], %r7;"));
  const auto& out = test.words(64);
  const LaunchReport report = test.run({1, 1, 1}, {64, 1, 1});
  EXPECT_TRUE(report.clean()) << report.text();
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i ^ 32);
}

// The other lanes come to the warp's meeting first, with nobody but what is on its way to go on.
TEST(SimArrivals, LanesMayWaitForOneThatWaits) {
  for (const std::uint32_t blocks : {1u, 2u}) {
    TestRun test(kernel(
        "@!%p0 bra J;\n" + std::string(kExpect64) + kCopy + kWait +
            "J: bar.warp.sync 0xffffffff;\nand.b32 %r8, %r0, 15; shl.b32 %r8, %r8, 2; add.u32 %r8, %r8, "
            "%r2; ld.shared.u32 %r9, [%r8];\nld.param.u64 %d3, [b]; mul.wide.u32 %d4, %r0, 4; add.u64 "
            "%d3, %d3, %d4; atom.global.add.u32 %r7, [%d3], %r9;",
        2));
    auto& in = test.words(16);
    std::iota(in.begin(), in.end(), 7u);
    const auto& out = test.words(32);
    test.cluster = {blocks, 1, 1};
    const LaunchReport report = test.run({blocks, 1, 1}, {32, 1, 1});
    EXPECT_TRUE(report.clean()) << report.text();
    for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], blocks * (7 + i % 16));
  }
}

// Asked again and again, with no instruction that waits.
TEST(SimArrivals, WhoOnlyAsksGetsItAsWell) {
  TestRun test(kernel(std::string(kExpect64) + kCopy +
                      "A: mbarrier.test_wait.parity.shared.b64 %p9, [%r1], 0;\n@!%p9 bra A;\n"
                      "ld.shared.u32 %r9, [%r2+8]; st.global.u32 [%d1], %r9;"));
  auto& words = test.words({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  const LaunchReport report = test.run({1, 1, 1}, {1, 1, 1});
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(words.front(), 3u);
}

// However many clusters have read a word, a write by a later one is a race with them; those that a block has
// met at its cluster's barrier are not.
TEST(SimArrivals, ClustersAreToldApartHoweverManyThereAre) {
  const std::string body =
      "ld.global.u32 %r9, [%d1]; barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r5, %ctaid.x;\n"
      "mov.u32 %r6, %nctaid.x; sub.u32 %r6, %r6, 1; setp.eq.u32 %p2, %r5, %r6;\n"
      "and.pred %p2, %p2, %p0; @%p2 st.global.u32 [%d1], 7;";
  for (const std::uint32_t blocks : {2u, 4u, 10000u}) {
    TestRun test(kernel(body));
    test.words(1);
    test.cluster = {2, 1, 1};
    const LaunchReport report = test.run({blocks, 1, 1}, {1, 1, 1});
    EXPECT_EQ(report.races(), blocks == 2 ? 0u : 1u) << blocks << report.text();
  }
}

TEST(SimArrivals, AGridIsOfWholeClusters) {
  TestRun test(kernel("st.global.u32 [%d0], %r0;"));
  test.words(32);
  for (const Index3& cluster : {Index3{2, 1, 1}, Index3{3, 2, 1}, Index3{0, 1, 1}, Index3{17, 1, 1}}) {
    test.cluster = cluster;
    EXPECT_THROW(test.run({3, 1, 1}), Error);
  }
  test.cluster = {3, 1, 1};
  EXPECT_TRUE(test.run({3, 1, 1}).clean());
}

}  // namespace
}  // namespace gpuforge::sim
