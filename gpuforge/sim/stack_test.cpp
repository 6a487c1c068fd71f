// alloca, stacksave, stackrestore.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/base/error.h"
#include "gpuforge/sim/run_for_tests.h"

namespace gpuforge::sim {
namespace {

using testing::HasSubstr;

std::string kernel(const std::string& body, const std::string& before = "") {
  return module_text(std::string(kOwnWord) + body, 1, before);
}

Finding only_finding(const std::string& body, const std::string& before = "") {
  TestRun test(kernel(body, before));
  test.words(32);
  const LaunchReport report = test.run();
  EXPECT_EQ(report.findings.size(), 1u) << report.text();
  return report.findings.empty() ? Finding() : report.findings[0];
}

TEST(SimStack, SizesDifferByLaneAndCallsStandBehindThem) {
  // Every lane takes 8 * (lane + 1) bytes; the callee has an array of its own and takes more.
  TestRun test(kernel(
      "add.u32 %r1, %r0, 1; mul.wide.u32 %d3, %r1, 8; alloca.u64 %d4, %d3; mul.wide.u32 %d5, %r0, 8;\n"
      "add.u64 %d5, %d4, %d5; st.local.u32 [%d5], %r0; st.local.u32 [%d5+4], 77; call (%r2), deeper, (%r1);\n"
      "ld.local.u32 %r3, [%d5]; ld.local.u32 %r4, [%d5+4]; mad.lo.u32 %r2, %r2, 1000, %r3; add.u32 %r2, %r2, "
      "%r4;\n"
      "st.global.u32 [%d0], %r2; ret;",
      ".func (.reg .b32 %o) deeper(.reg .b32 %i) { .local .align 8 .b8 own[16]; .reg .b32 %p; .reg .b32 %a, "
      "%b;\n"
      "st.local.u32 [own+12], %i; alloca.u32 %p, 32, 64; st.local.u32 [%p], 5; st.local.u32 [%p+28], 6;\n"
      "and.b32 %b, %p, 63; ld.local.u32 %a, [own+12]; add.u32 %o, %a, %b; ret; }"));
  const auto& out = test.words(32);
  const LaunchReport report = test.run();
  EXPECT_TRUE(report.clean()) << report.text();
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], (lane + 1) * 1000 + lane + 77);
}

TEST(SimStack, RestoringGivesMemoryBack) {
  // More than there is altogether, but never more than 1 KB at once; every block starts afresh.
  TestRun test(kernel(
      "mov.u32 %r1, 0; AGAIN: stacksave.u32 %r2; alloca.u32 %r3, 1024, 16; st.local.u32 [%r3+1020], %r1;\n"
      "ld.local.u32 %r4, [%r3+1020]; stackrestore.u32 %r2; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 100;\n"
      "@%p1 bra AGAIN; alloca.u32 %r3, 12000; st.global.u32 [%d0], %r4; ret;"));
  const auto& out = test.words(32);
  const LaunchReport report = test.run({3, 1, 1});
  EXPECT_EQ(report.count(FindingKind::stack_overflow), 0u) << report.text();
  EXPECT_EQ(out[5], 99u);
}

TEST(SimStack, BeyondWhatWasTaken) {
  const Finding beyond = only_finding(
      "add.u32 %r1, %r0, 8; alloca.u32 %r2, %r1; st.local.u8 [%r2+19], %r1; ret;");  // lanes below 12 have
                                                                                     // less
  EXPECT_EQ(beyond.kind, FindingKind::out_of_bounds);
  EXPECT_EQ(beyond.space, "local");
  EXPECT_EQ(beyond.thread.x, 0u);
  EXPECT_THAT(beyond.message, HasSubstr("which has 8 bytes"));
  const Finding generic = only_finding(
      "alloca.u64 %d3, 16; cvta.local.u64 %d4, %d3; ld.u32 %r1, [%d4+16]; st.global.u32 [%d0], %r1; ret;");
  EXPECT_EQ(generic.kind, FindingKind::out_of_bounds);
  const Finding given_back = only_finding(
      "stacksave.u32 %r1; alloca.u32 %r2, 16; st.local.u32 [%r2], 1; stackrestore.u32 %r1; ld.local.u32 %r3, "
      "[%r2];\n"
      "st.global.u32 [%d0], %r3; ret;");
  EXPECT_EQ(given_back.kind, FindingKind::out_of_bounds);
}

TEST(SimStack, WhatIsTakenAgainWasNeverWritten) {
  const Finding finding = only_finding(
      "stacksave.u32 %r1; alloca.u32 %r2, 16; st.local.u32 [%r2+8], 1; stackrestore.u32 %r1; alloca.u32 %r2, "
      "16;\n"
      "ld.local.u32 %r3, [%r2+8]; st.global.u32 [%d0], %r3; ret;");
  EXPECT_EQ(finding.kind, FindingKind::uninitialized);
}

TEST(SimStack, Overflow) {
  const Finding finding = only_finding("alloca.u32 %r1, 64; alloca.u64 %d3, 0xffffffffffffffff; ret;");
  EXPECT_EQ(finding.kind, FindingKind::stack_overflow);
  EXPECT_THAT(finding.message, HasSubstr("alloca of 18446744073709551615 bytes"));
}

TEST(SimStack, RestoringWhatNobodySaved) {
  for (const char* body : {"stackrestore.u32 4096; ret;", "call deeper, (%r0); ret;"}) {
    const Finding finding = only_finding(std::string("alloca.u32 %r1, 64; ") + body,
                                         ".func deeper(.reg .b32 %i) { stackrestore.u32 8; ret; }");
    EXPECT_EQ(finding.kind, FindingKind::out_of_bounds);
    EXPECT_THAT(finding.message, HasSubstr("no stacksave of this function gave"));
  }
}

TEST(SimStack, AlignmentsThatAreNone) {
  for (const char* alignment : {"12", "0", "0x1000000"}) {
    TestRun test(kernel(format_text("alloca.u32 %r1, 64, {}; ret;", alignment)));
    test.words(32);
    try {
      test.run();
      ADD_FAILURE() << alignment;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("power of two"));
    }
  }
}

}  // namespace
}  // namespace gpuforge::sim
