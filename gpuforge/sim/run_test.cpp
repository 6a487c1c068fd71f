// How threads run: branches, calls, and what they leave behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "gpuforge/base/error.h"
#include "gpuforge/sim/run_for_tests.h"

namespace gpuforge::sim {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

std::string kernel(const std::string& body, int parameters = 1, const std::string& before = "") {
  return module_text(std::string(kOwnWord) + body, parameters, before);
}

TEST(SimRun, LanesLoopAsOftenAsEachMustAndMeetAgain) {
  TestRun test(
      kernel("mov.u32 %r1, 0; mov.u32 %r2, 0;\n"
             "LOOP: setp.gt.u32 %p1, %r1, %r0; @%p1 bra DONE;\n"
             "add.u32 %r2, %r2, %r1; add.u32 %r1, %r1, 1; bra LOOP;\n"
             "DONE: activemask.b32 %r3; add.u32 %r4, %r2, 0; st.global.u32 [%d0], %r2;\n"
             "st.global.u32 [%d0+128], %r3; ret;"));
  const auto& out = test.words(64);
  const LaunchReport report = test.run();
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane * (lane + 1) / 2) << lane;
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[32 + lane], 0xffffffffu) << lane;
  EXPECT_TRUE(report.clean());
  EXPECT_EQ(report.at("").divergent, 31u);
}

TEST(SimRun, ALoopsExitRunsOnceAlthoughItStandsFirst) {
  // The block after the loop stands before the loop's body in the text.
  TestRun test(
      kernel("mov.u32 %r1, 0; bra HEAD;\n"
             "DONE: activemask.b32 %r3; st.global.u32 [%d0], %r3; ret;\n"
             "BODY: add.u32 %r1, %r1, 1;\n"
             "HEAD: setp.lt.u32 %p1, %r1, %r0; @%p1 bra BODY; bra DONE;"));
  const auto& out = test.words(32);
  EXPECT_TRUE(test.run().clean());
  EXPECT_THAT(out, Each(0xffffffffu));
}

TEST(SimRun, LanesOfOneWarpWaitForEachOther) {
  // A spin lock taken by every lane in turn: the holder must get a turn although it stands behind the others.
  TestRun test(
      kernel("ld.param.u64 %d3, [b];\n"
             "TRY: atom.global.cas.b32 %r1, [%d3], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra TRY;\n"
             "membar.gl; ld.volatile.global.u32 %r2, [%d3+4]; add.u32 %r2, %r2, 1;\n"
             "st.volatile.global.u32 [%d3+4], %r2; membar.gl; atom.global.exch.b32 %r1, [%d3], 0;\n"
             "st.global.u32 [%d0], %r2; ret;",
             2));
  const auto& out = test.words(64);
  const auto& lock = test.words(2);
  EXPECT_TRUE(test.run({1, 1, 1}, {64, 1, 1}).clean());
  EXPECT_EQ(lock[1], 64u);
  std::vector<std::uint32_t> sorted = out;
  std::sort(sorted.begin(), sorted.end());
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(sorted[i], i + 1);
}

TEST(SimRun, BlocksWaitForEachOther) {
  // Every block waits until all have arrived: they must be resident together.
  TestRun test(
      kernel("ld.param.u64 %d3, [b]; mov.u32 %r5, %nctaid.x; mov.u32 %r6, %ctaid.x;\n"
             "setp.ne.u32 %p1, %r0, 0; @%p1 bra WAITED;\n"
             "membar.gl; atom.global.add.u32 %r1, [%d3], 1;\n"
             "POLL: ld.acquire.gpu.global.u32 %r2, [%d3]; setp.lt.u32 %p2, %r2, %r5; @%p2 bra POLL;\n"
             "WAITED: bar.sync 0; mul.wide.u32 %d4, %r6, 4; add.u64 %d5, %d1, %d4;\n"
             "st.global.u32 [%d5], %r6; ret;",
             2));
  const auto& out = test.words(50);
  test.words(1);
  const LaunchReport report = test.run({50, 1, 1}, {64, 1, 1});
  for (std::uint32_t i = 0; i < 50; ++i) EXPECT_EQ(out[i], i);
  EXPECT_TRUE(report.clean()) << report.text();
}

constexpr const char* kFactorial =
    ".func (.param .b32 result) fact(.param .b32 n)\n{\n.reg .pred %p<2>; .reg .b32 %r<8>;\n"
    "ld.param.u32 %r1, [n]; setp.le.u32 %p1, %r1, 1; mov.u32 %r4, 1; @%p1 bra END;\n"
    "sub.u32 %r2, %r1, 1;\n"
    "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r2; call (y), fact, (x); ld.param.b32 %r3, [y]; }\n"
    "mul.lo.u32 %r4, %r1, %r3;\nEND: st.param.b32 [result], %r4; ret;\n}\n";

// %envreg1 and 2 hold the address that cooperative groups' grid barrier uses; 0 in other launches.
TEST(SimRun, ACooperativeGridHasABarrierWord) {
  const std::string body = kernel(
      "mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2; mov.b64 %d3, {%r2, %r1}; mov.u32 %r7, %envreg31;\n"
      "setp.eq.u64 %p1, %d3, 0; @%p1 bra OUT;\n"
      "mov.u32 %r3, %ctaid.x; mul.wide.u32 %d4, %r3, 4; add.u64 %d5, %d1, %d4; st.global.u32 [%d5], 5;\n"
      "atom.add.acq_rel.gpu.u32 %r4, [%d3+4], 1;\n"
      "WAIT: ld.acquire.gpu.u32 %r4, [%d3+4]; mov.u32 %r5, %nctaid.x; setp.lt.u32 %p2, %r4, %r5; @%p2 bra "
      "WAIT;\n"
      "xor.b32 %r3, %r3, 3; mul.wide.u32 %d4, %r3, 4; add.u64 %d6, %d1, %d4; ld.global.u32 %r6, [%d6];\n"
      "add.u32 %r6, %r6, %r7; st.global.u32 [%d5+16], %r6;\n"
      "OUT: ret;");
  TestRun test(body);
  auto& out = test.words(std::vector<std::uint32_t>(8, 1));
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(out.data());
  const void* const argument = &address;
  const LaunchReport plain = launch(test.program(), "k", {{4, 1, 1}, {1, 1, 1}}, {&argument, 1});
  EXPECT_TRUE(plain.clean()) << plain.text();
  EXPECT_THAT(out, Each(1u));
  const LaunchReport together =
      launch(test.program(), "k", {.grid = {4, 1, 1}, .cooperative = true}, {&argument, 1});
  EXPECT_TRUE(together.clean()) << together.text();
  EXPECT_THAT(out, Each(5u));
}

TEST(SimRun, FunctionsCallThemselves) {
  TestRun test(kernel(
      "and.b32 %r1, %r0, 7;\n"
      "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), fact, (x); ld.param.b32 %r2, [y]; }\n"
      "st.global.u32 [%d0], %r2; ret;",
      1, kFactorial));
  const auto& out = test.words(32);
  EXPECT_TRUE(test.run().clean());
  const std::uint32_t expected[] = {1, 1, 2, 6, 24, 120, 720, 5040};
  for (std::size_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], expected[lane & 7]);
}

TEST(SimRun, EndlessRecursionIsReported) {
  const std::string forever =
      ".func f(.param .b32 n)\n{\n.local .align 4 .b8 big[64]; .reg .b32 %r<3>; ld.param.u32 %r1, [n];\n"
      "{ .param .b32 x; st.param.b32 [x], %r1; call f, (x); }\nret;\n}\n";
  TestRun test(kernel("{ .param .b32 x; st.param.b32 [x], %r0; call f, (x); }\nret;", 1, forever));
  test.words(32);
  const LaunchReport report = test.run();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::stack_overflow);
}

TEST(SimRun, CallsThroughRegistersSplitTheWarp) {
  const std::string functions =
      ".func (.param .b32 r) f(.param .b32 n)\n{ .reg .b32 %r<2>; ld.param.u32 %r1, [n]; add.u32 %r1, %r1, "
      "100; "
      "st.param.b32 [r], %r1; ret; }\n"
      ".func (.param .b32 r) g(.param .b32 n)\n{ .reg .b32 %r<2>; ld.param.u32 %r1, [n]; add.u32 %r1, %r1, "
      "200; "
      "st.param.b32 [r], %r1; ret; }\n.global .u64 table[2] = {f, g};\n";
  TestRun test(
      kernel("and.b32 %r1, %r0, 1; mul.wide.u32 %d3, %r1, 8; mov.u64 %d4, table; add.u64 %d4, %d4, %d3;\n"
             "ld.global.u64 %d5, [%d4];\n"
             "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r0;\n"
             "proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
             "call (y), %d5, (x), proto; ld.param.b32 %r2, [y]; }\n"
             "st.global.u32 [%d0], %r2; ret;",
             1, functions));
  const auto& out = test.words(32);
  EXPECT_TRUE(test.run().clean());
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane + (lane % 2 == 0 ? 100 : 200));
}

TEST(SimRun, ACallToNowhereIsReported) {
  TestRun test(kernel("mov.u64 %d5, 4096; { proto: .callprototype _ (); call %d5, (), proto; } ret;"));
  test.words(32);
  const LaunchReport report = test.run();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::out_of_bounds);
  EXPECT_THAT(report.findings[0].message, HasSubstr("0x1000"));
}

TEST(SimRun, BranchTables) {
  TestRun test(
      kernel("and.b32 %r1, %r0, 3;\nlist: .branchtargets A, B, C, B;\nbrx.idx %r1, list;\n"
             "A: mov.u32 %r2, 10; bra END;\nB: mov.u32 %r2, 20; bra END;\nC: mov.u32 %r2, 30;\n"
             "END: st.global.u32 [%d0], %r2; ret;"));
  const auto& out = test.words(32);
  EXPECT_TRUE(test.run().clean());
  for (std::size_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], std::vector<std::uint32_t>({10, 20, 30, 20})[lane & 3]);
}

TEST(SimRun, ABranchTablesEndIsChecked) {
  TestRun test(kernel("list: .branchtargets A, A;\nbrx.idx %r0, list;\nA: ret;"));
  test.words(32);
  const LaunchReport report = test.run();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].thread, (Index3{2, 0, 0}));
}

TEST(SimRun, GuardedExitsLeaveTheOthersRunning) {
  TestRun test(
      kernel("setp.lt.u32 %p1, %r0, 8; @%p1 exit; setp.ge.u32 %p2, %r0, 24; @!%p2 st.global.u32 [%d0], 7;\n"
             "@%p2 ret; st.global.u32 [%d0], 9; ret;"));
  const auto& out = test.words(32);
  const LaunchReport report = test.run();
  EXPECT_TRUE(report.clean());
  for (std::size_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane >= 8 && lane < 24 ? 9u : 0u);
}

TEST(SimRun, InlineAssemblysScopesRepeatNames) {
  TestRun test(
      kernel("mov.u32 %r1, 1;\n"
             "{ .reg .u32 t; .reg .pred q; mov.u32 t, 5; setp.eq.u32 q, %r0, 0; @q bra L; add.u32 t, t, 1; "
             "L: add.u32 %r1, %r1, t; }\n"
             "{ .reg .u32 t; .reg .pred q; mov.u32 t, 50; setp.eq.u32 q, %r0, 1; @q bra L; add.u32 t, t, 1; "
             "L: add.u32 %r1, %r1, t; }\n"
             "st.global.u32 [%d0], %r1; ret;"));
  const auto& out = test.words(32);
  EXPECT_TRUE(test.run().clean());
  EXPECT_THAT((std::vector<std::uint32_t>(out.begin(), out.begin() + 3)),
              ElementsAre(1 + 5 + 51, 1 + 6 + 50, 1 + 6 + 51));
}

TEST(SimRun, SpecialRegistersTellWhereAThreadIs) {
  TestRun test(module_text(
      "mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %ntid.x; mad.lo.u32 %r3, %r1, %r2, %r0;\n"
      "mov.u32 %r4, %ctaid.y; mov.u32 %r5, %nctaid.x; mov.u32 %r6, %ctaid.x; mad.lo.u32 %r7, %r4, %r5, %r6;\n"
      "mov.u32 %r8, %laneid; mov.u32 %r9, %warpid; shl.b32 %r9, %r9, 8; or.b32 %r8, %r8, %r9;\n"
      "shl.b32 %r10, %r7, 16; or.b32 %r8, %r8, %r10; mad.lo.u32 %r11, %r7, 40, %r3;\n"
      "ld.param.u64 %d1, [a]; mul.wide.u32 %d2, %r11, 4; add.u64 %d1, %d1, %d2; st.global.u32 [%d1], %r8; "
      "ret;",
      1));
  const auto& out = test.words(240);
  EXPECT_TRUE(test.run({3, 2, 1}, {8, 5, 1}).clean());
  for (std::uint32_t block = 0; block < 6; ++block)
    for (std::uint32_t thread = 0; thread < 40; ++thread)
      EXPECT_EQ(out[block * 40 + thread], block << 16 | (thread / 32) << 8 | thread % 32);
}

TEST(SimRun, EndlessLoopsEndAtTheLimit) {
  TestRun test(kernel("L: bra L;"));
  test.words(32);
  test.options.step_limit = 100'000;
  const LaunchReport report = test.run();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::step_limit);
  EXPECT_EQ(report.findings[0].place.ptx_line, 9u);
}

TEST(SimRun, TheLimitIsOfAllBlocksHoweverShort) {
  TestRun test(kernel("st.global.u32 [%d0], %r0; ret;"));
  test.words(32);
  test.options.step_limit = 1000;
  const LaunchReport report = test.run({1000, 1, 1}, {32, 1, 1});
  EXPECT_EQ(report.count(FindingKind::step_limit), 1u);
  EXPECT_LT(report.warp_instructions(), 1100u);
}

TEST(SimRun, CancellingEndsALaunch) {
  TestRun test(kernel("L: bra L;"));
  test.words(32);
  const std::atomic<bool> cancel = true;
  test.options.cancel = &cancel;
  EXPECT_THROW(test.run(), Error);
}

TEST(SimRun, PrintfAndAssert) {
  const std::string strings =
      ".global .align 1 .b8 text[] = {120, 61, 37, 100, 32, 37, 115, 10, 0};\n"
      ".global .align 1 .b8 word[] = {97, 98, 0};\n"
      ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);\n";
  TestRun test(
      kernel(".local .align 8 .b8 list[16]; .reg .b64 %spl; mov.u64 %spl, list; cvta.local.u64 %d5, %spl;\n"
             "setp.gt.u32 %p1, %r0, 1; @%p1 bra END; st.local.u32 [%spl], %r0; mov.u64 %d6, word; "
             "st.local.u64 [%spl+8], %d6;\n"
             "{ .param .b64 f; .param .b64 v; .param .b32 r; mov.u64 %d7, text; st.param.b64 [f], %d7; "
             "st.param.b64 [v], %d5; call (r), vprintf, (f, v); }\nEND: ret;",
             1, strings));
  test.words(32);
  std::string seen;
  test.options.print = [&](std::string_view text) { seen += text; };
  const LaunchReport report = test.run();
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(report.printed, "x=0 ab\nx=1 ab\n");
  EXPECT_EQ(seen, report.printed);
}

TEST(SimRun, TrapEndsTheLaunch) {
  TestRun test(kernel("setp.eq.u32 %p1, %r0, 5; @%p1 trap; ret;"));
  test.words(32);
  const LaunchReport report = test.run();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::trap);
  EXPECT_EQ(report.findings[0].thread, (Index3{5, 0, 0}));
}

TEST(SimRun, SeedsChangeTheOrderNotTheResult) {
  const std::string body =
      "mov.u32 %r5, %ctaid.x; mad.lo.u32 %r6, %r5, 64, %r0; mul.wide.u32 %d3, %r6, 4;\n"
      "add.u64 %d3, %d1, %d3; st.global.u32 [%d3], %r6; ret;";
  for (const std::uint64_t seed : {0u, 1u, 2u, 77u}) {
    TestRun test(kernel(body));
    const auto& out = test.words(64 * 9);
    test.options.schedule_seed = seed;
    EXPECT_TRUE(test.run({9, 1, 1}, {64, 1, 1}).clean());
    for (std::uint32_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i) << "seed " << seed;
  }
}

TEST(SimRun, ResultsThatDependOnTheOrderAreFound) {
  // The last block to come wins.
  const std::string last =
      "mov.u32 %r5, %ctaid.x; setp.eq.u32 %p1, %r0, 0; @%p1 st.relaxed.gpu.global.u32 [%d1], %r5; ret;";
  TestRun test(kernel(last));
  const auto& out = test.words(1);
  test.options.schedules = 3;
  const LaunchReport report = test.run({8, 1, 1}, {32, 1, 1});
  EXPECT_GT(report.count(FindingKind::order_dependence), 0u);
  EXPECT_EQ(out[0], 7u);  // as without the further runs
  TestRun sum(kernel("atom.global.add.u32 %r5, [%d1], 3; ret;"));
  const auto& total = sum.words(1);
  sum.options.schedules = 3;
  EXPECT_TRUE(sum.run({8, 1, 1}, {32, 1, 1}).clean());
  EXPECT_EQ(total[0], 8u * 32 * 3);
}

TEST(SimRun, HostThreadsGiveWhatOneGives) {
  const std::string body =
      "mov.u32 %r5, %ctaid.x; mad.lo.u32 %r6, %r5, 64, %r0; mul.wide.u32 %d3, %r6, 4;\n"
      "add.u64 %d3, %d1, %d3; mul.lo.u32 %r7, %r6, %r6; st.global.u32 [%d3], %r7;\n"
      "red.global.add.u32 [%d1+51200], %r6; ret;";
  std::vector<std::uint32_t> first;
  for (const unsigned threads : {1u, 2u, 5u}) {
    TestRun test(kernel(body));
    const auto& out = test.words(64 * 200 + 1);
    test.options.host_threads = threads;
    test.options.races = false;
    test.options.initialized = false;
    const LaunchReport report = test.run({200, 1, 1}, {64, 1, 1});
    EXPECT_TRUE(report.clean());
    EXPECT_EQ(report.warp_instructions(), 200u * 2 * 12);
    EXPECT_EQ(report.in("global").requests, 200u * 2 * 2);
    if (first.empty()) first = out;
    EXPECT_EQ(out, first) << threads;
  }
}

TEST(SimRun, HostThreadsReportTheFirstFailingBlock) {
  for (const unsigned threads : {1u, 4u}) {
    TestRun test(kernel(
        "mov.u32 %r5, %ctaid.x; setp.lt.u32 %p1, %r5, 37; @%p1 ret; st.global.u32 [%d1+4096], %r5; ret;"));
    test.words(32);
    test.options.host_threads = threads;
    test.options.races = false;
    test.options.initialized = false;
    const LaunchReport report = test.run({100, 1, 1}, {32, 1, 1});
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(report.findings[0].block, (Index3{37, 0, 0})) << threads;
  }
}

}  // namespace
}  // namespace gpuforge::sim
