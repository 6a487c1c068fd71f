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
          "and.b32 %r5, %r5, 0; cvt.u64.u32 %d5, %r5; add.u64 %d5, %d5, %d0; st.global.u32 [%d5], %r0; ret;",
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
  const LaunchReport local =
      run(".local .align 8 .b8 l[16]; st.local.u32 [l], %r0; ld.local.u64 %d6, [l]; "
          "cvt.u32.u64 %r5, %d6; st.global.u32 [%d0], %r5; ret;");
  EXPECT_EQ(local.count(FindingKind::uninitialized), 1u);
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

TEST(SimTracking, CanBeSwitchedOff) {
  TestRun test(kernel("add.u32 %r9, %r8, 1; st.global.u32 [%d0], %r9; ret;"));
  test.words(32);
  test.options.initialized = false;
  EXPECT_TRUE(test.run().clean());
}

}  // namespace
}  // namespace gpuforge::sim
