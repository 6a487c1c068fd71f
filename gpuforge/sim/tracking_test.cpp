// Values that were never written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/sim/run_for_tests.h"

namespace gpuforge::sim {
namespace {

using testing::HasSubstr;

std::string kernel(const std::string& body, int parameters = 1) {
  return module_text(std::string(kOwnWord) + body, parameters, ".shared .align 4 .b8 s[4096];");
}

LaunchReport run(const std::string& body, bool initialized = true) {
  TestRun test(kernel(body, 2));
  test.words(32);
  test.words(32, initialized);
  return test.run();
}

constexpr const char* kSecond = "ld.param.u64 %d3, [b]; add.u64 %d3, %d3, %d2;\n";

TEST(SimTracking, ARegisterNeverWritten) {
  const LaunchReport stored = run("add.u32 %r9, %r8, 1; st.global.u32 [%d0], %r9; ret;");
  ASSERT_EQ(stored.count(FindingKind::uninitialized), 1u);
  EXPECT_EQ(stored.findings[0].thread, (Index3{0, 0, 0}));
  // Not used for anything: nothing to say.
  EXPECT_TRUE(run("add.u32 %r9, %r8, 1; st.global.u32 [%d0], %r0; ret;").clean());
}

TEST(SimTracking, WrittenInSomeLanesOnly) {
  const LaunchReport report =
      run("setp.lt.u32 %p1, %r0, 20; @%p1 mov.u32 %r8, 1; st.global.u32 [%d0], %r8; ret;");
  ASSERT_EQ(report.count(FindingKind::uninitialized), 1u);
  EXPECT_EQ(report.findings[0].thread, (Index3{20, 0, 0}));
  EXPECT_TRUE(run("setp.lt.u32 %p1, %r0, 20; @%p1 mov.u32 %r8, 1; @!%p1 mov.u32 %r8, 2; st.global.u32 [%d0], "
                  "%r8; ret;")
                  .clean());
}

TEST(SimTracking, MemoryNeverWritten) {
  const std::string load = std::string(kSecond) + "ld.global.u32 %r5, [%d3];\n";
  EXPECT_TRUE(run(load + "st.global.u32 [%d0], %r5; ret;").clean());
  const LaunchReport stored = run(load + "xor.b32 %r5, %r5, 1; st.global.u32 [%d0], %r5; ret;", false);
  EXPECT_EQ(stored.count(FindingKind::uninitialized), 1u);
  const LaunchReport branched =
      run(load + "setp.eq.u32 %p1, %r5, 0; @%p1 bra END; st.global.u32 [%d0], %r0; END: ret;", false);
  ASSERT_EQ(branched.count(FindingKind::uninitialized), 1u);
  EXPECT_THAT(branched.findings[0].message, HasSubstr("a branch"));
  const LaunchReport addressed = run(
      load +
          "and.b32 %r5, %r5, 4; cvt.u64.u32 %d5, %r5; add.u64 %d5, %d5, %d0; st.global.u32 [%d5], %r0; ret;",
      false);
  EXPECT_EQ(addressed.count(FindingKind::uninitialized), 1u) << addressed.text();
}

TEST(SimTracking, TheSideNotSelectedDoesNotMatter) {
  const std::string load = std::string(kSecond) + "ld.global.u32 %r5, [%d3];\n";
  EXPECT_TRUE(
      run(load + "setp.ge.u32 %p1, %r0, 0; selp.u32 %r6, %r0, %r5, %p1; st.global.u32 [%d0], %r6; ret;",
          false)
          .clean());
  EXPECT_FALSE(
      run(load + "setp.ge.u32 %p1, %r0, 1; selp.u32 %r6, %r0, %r5, %p1; st.global.u32 [%d0], %r6; ret;",
          false)
          .clean());
}

TEST(SimTracking, SharedAndLocalMemory) {
  const LaunchReport shared =
      run("mov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r1, %r1, %r2; setp.ne.u32 %p1, %r0, 9; "
          "@%p1 st.shared.u32 [%r1], %r0; ld.shared.u32 %r5, [%r1]; st.global.u32 [%d0], %r5; ret;");
  ASSERT_EQ(shared.count(FindingKind::uninitialized), 1u);
  EXPECT_EQ(shared.findings[0].thread, (Index3{9, 0, 0}));
  const std::string local = ".local .align 8 .b8 l[16]; st.local.u32 [l], %r0; ld.local.u64 %d6, [l];";
  EXPECT_TRUE(run(local + "cvt.u32.u64 %r5, %d6; st.global.u32 [%d0], %r5; ret;").clean());
  EXPECT_FALSE(
      run(local +
          "shr.u64 %d6, %d6, 32; neg.s64 %d6, %d6; cvt.u32.u64 %r5, %d6; st.global.u32 [%d0], %r5; ret;")
          .clean());
}

TEST(SimTracking, MarksTravelWithShuffles) {
  const std::string load = "setp.eq.u32 %p1, %r0, 3; @!%p1 mov.u32 %r8, 5;\n";
  const LaunchReport report = run(load +
                                  "shfl.sync.idx.b32 %r6, %r8, 3, 31, -1; setp.eq.u32 %p2, %r0, 7; "
                                  "@%p2 st.global.u32 [%d0], %r6; ret;");
  ASSERT_EQ(report.count(FindingKind::uninitialized), 1u);
  EXPECT_EQ(report.findings[0].thread, (Index3{7, 0, 0}));
  EXPECT_TRUE(run(load + "shfl.sync.idx.b32 %r6, %r8, 4, 31, -1; st.global.u32 [%d0], %r6; ret;").clean());
}

// Stores of the second buffer's word, which was never written, after `body` worked on it in %r5.
bool finds(const std::string& body) {
  return !run(std::string(kSecond) + "ld.global.u32 %r5, [%d3];\n" + body + " st.global.u32 [%d0], %r5; ret;",
              false)
              .clean();
}

TEST(SimTracking, BitsThatDoNotMatter) {
  for (const char* body :
       {"and.b32 %r5, %r5, 0;", "or.b32 %r5, %r5, -1;", "xor.b32 %r5, %r5, %r5;", "sub.u32 %r5, %r5, %r5;",
        "lop3.b32 %r5, %r5, %r0, %r0, 0xcc;", "shl.b32 %r5, %r5, 32;", "shr.u32 %r5, %r5, 40;",
        "bfi.b32 %r5, %r0, %r5, 0, 16; bfi.b32 %r5, %r0, %r5, 16, 16;", "prmt.b32 %r5, %r5, %r0, 0x7654;",
        "mov.b64 %d6, {%r0, %r5}; mov.b64 {%r5, %r7}, %d6;",
        "cvt.u64.u32 %d6, %r5; shr.u64 %d6, %d6, 32; cvt.u32.u64 %r5, %d6;",
        "mul.lo.u32 %r5, %r5, 256; and.b32 %r5, %r5, 0; add.u32 %r5, %r5, 1;",
        "shl.b32 %r5, %r5, 16; add.u32 %r5, %r5, 7; and.b32 %r5, %r5, 0xffff;",
        "setp.eq.u32 %p1, %r5, 1; setp.lt.and.u32 %p1, %r5, 7, !%p2; mov.u32 %r5, 3;"})
    EXPECT_FALSE(finds(body)) << body;
  for (const char* body :
       {"and.b32 %r5, %r5, 1;", "xor.b32 %r5, %r5, %r0;", "mul.lo.u32 %r5, %r5, 0;",
        "lop3.b32 %r5, %r5, %r0, %r0, 0x3c;", "shl.b32 %r5, %r5, 31;", "shr.s32 %r5, %r5, 40;",
        "bfi.b32 %r5, %r0, %r5, 0, 31; add.u32 %r5, %r5, 1;",
        "prmt.b32 %r5, %r5, %r0, 0x7653; neg.s32 %r5, %r5;",
        "mov.b64 %d6, {%r0, %r5}; mov.b64 {%r7, %r5}, %d6;", "shl.b32 %r7, %r0, %r5; mov.u32 %r5, %r7;",
        "shl.b32 %r5, %r5, 16; add.u32 %r5, %r5, 7; and.b32 %r5, %r5, 0x1ffff;"})
    EXPECT_TRUE(finds(body)) << body;
}

TEST(SimTracking, ComparisonsDecidedWithoutIt) {
  const std::string load = std::string(kSecond) + "ld.global.u32 %r5, [%d3];\n";
  const std::string store = "@%p1 st.global.u32 [%d0], %r0; ret;";
  const std::string known = "setp.lt.u32 %p2, %r0, 0;\n";  // false
  EXPECT_TRUE(run(load + known + "setp.gt.and.u32 %p1, %r5, 3, %p2;" + store, false).clean());
  EXPECT_TRUE(run(load + known + "setp.gt.or.u32 %p1, %r5, 3, !%p2;" + store, false).clean());
  EXPECT_FALSE(run(load + known + "setp.gt.or.u32 %p1, %r5, 3, %p2;" + store, false).clean());
  EXPECT_FALSE(run(load + known + "setp.gt.and.u32 %p1, %r5, 3, !%p2;" + store, false).clean());
  // A bit that is there and differs.
  EXPECT_TRUE(run(load + "or.b32 %r5, %r5, 4; setp.eq.u32 %p1, %r5, 1;" + store, false).clean());
  EXPECT_FALSE(run(load + "or.b32 %r5, %r5, 4; setp.eq.u32 %p1, %r5, 7;" + store, false).clean());
}

TEST(SimTracking, ElementsOfAVector) {
  const std::string load =
      ".local .align 16 .b8 l[16]; st.local.u32 [l], %r0; st.local.u8 [l+8], %r0; ld.local.v4.u32 {%r4, %r5, "
      "%r6, "
      "%r7}, [l];\n";
  EXPECT_TRUE(run(load + "st.global.u32 [%d0], %r4; ret;").clean());
  EXPECT_FALSE(run(load + "add.u32 %r5, %r5, 1; st.global.u32 [%d0], %r5; ret;").clean());
  EXPECT_TRUE(run(load + "and.b32 %r6, %r6, 0xff; st.global.u32 [%d0], %r6; ret;").clean());
  EXPECT_FALSE(
      run(load + "and.b32 %r6, %r6, 0x1ff; add.u32 %r6, %r6, 1; st.global.u32 [%d0], %r6; ret;").clean());
}

TEST(SimTracking, BallotsHaveABitForEachLane) {
  const std::string vote = "setp.eq.u32 %p1, %r0, 3; @!%p1 mov.u32 %r8, 5; setp.gt.u32 %p2, %r8, 1;\n";
  const std::string ballot = vote + "vote.sync.ballot.b32 %r5, %p2, -1;\n";
  EXPECT_TRUE(run(ballot + "and.b32 %r5, %r5, -9; st.global.u32 [%d0], %r5; ret;").clean());
  EXPECT_FALSE(run(ballot + "and.b32 %r5, %r5, 8; st.global.u32 [%d0], %r5; ret;").clean());
  EXPECT_TRUE(run(vote + "vote.sync.any.pred %p3, %p2, -1; @%p3 st.global.u32 [%d0], %r0; ret;").clean());
  EXPECT_FALSE(run(vote + "vote.sync.all.pred %p3, %p2, -1; @%p3 st.global.u32 [%d0], %r0; ret;").clean());
}

TEST(SimTracking, AVoteSpeaksOfTheLanesThatTookPart) {
  const std::string half = "setp.lt.u32 %p1, %r0, 16;\n";
  const std::string ballot = "@%p1 vote.sync.ballot.b32 %r5, %p2, 0xffff;\n";
  const std::string other_half = "@!%p1 st.global.u32 [%d0], %r6; ret;";
  // The others keep what they wrote, whatever was voted on.
  const std::string unset_votes = "mov.u32 %r5, 7; setp.gt.u32 %p2, %r8, 1;\n" + half + ballot;
  EXPECT_TRUE(run(unset_votes + "add.u32 %r6, %r5, 1;\n" + other_half).clean());
  EXPECT_FALSE(run(unset_votes + "add.u32 %r6, %r5, 1; @%p1 st.global.u32 [%d0], %r6; ret;").clean());
  // And lack what they did not.
  const std::string set_votes = "setp.gt.u32 %p2, %r0, 1;\n" + half + ballot;
  EXPECT_FALSE(run("add.u32 %r9, %r8, 1;\n" + set_votes + "add.u32 %r6, %r5, 1;\n" + other_half).clean());
  EXPECT_TRUE(run(set_votes + "add.u32 %r6, %r5, 1; @%p1 st.global.u32 [%d0], %r6; ret;").clean());
}

TEST(SimTracking, CanBeSwitchedOff) {
  TestRun test(kernel("add.u32 %r9, %r8, 1; st.global.u32 [%d0], %r9; ret;"));
  test.words(32);
  test.options.initialized = false;
  EXPECT_TRUE(test.run().clean());
}

}  // namespace
}  // namespace gpuforge::sim
