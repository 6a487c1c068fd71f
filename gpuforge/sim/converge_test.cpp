// .sync instructions whose lanes come from several places of the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/sim/run_for_tests.h"

namespace gpuforge::sim {
namespace {

using testing::HasSubstr;

std::string kernel(const std::string& body, const std::string& before = "") {
  return module_text(std::string(kOwnWord) + body, 1, before);
}

// An instruction that reads register 1 (%r, %p, or %d for 64 bits) and writes %r2, at its first place; {0}
// makes that 11 and 12 at its second, so that the two share no operand.
struct Kind {
  std::string name;
  std::string instruction;
};
void PrintTo(const Kind& kind, std::ostream* stream) {
  *stream << kind.name;
}
class SimConvergeKinds : public testing::TestWithParam<Kind> {};

std::string at_place(const Kind& kind, const std::string& place) {
  return format_text("xor.b32 %r{0}1, %r9, 0; cvt.u64.u32 %d{0}1, %r9; setp.ne.u32 %p{0}1, %r8, 0;\n",
                     place) +
         format_text(kind.instruction, place) + format_text("\nmov.u32 %r7, %r{0}2;\n", place);
}

std::vector<std::uint32_t> result(const std::string& body) {
  // %r9 and %r8 differ by lane, in no simple way.
  TestRun test(kernel("mul.lo.u32 %r9, %r0, 0x9e3779b1; shr.u32 %r9, %r9, 29; and.b32 %r8, %r9, 5;\n" + body +
                      "st.global.u32 [%d0], %r7; ret;"));
  const auto& out = test.words(32);
  const LaunchReport report = test.run();
  EXPECT_TRUE(report.clean()) << report.text();
  return out;
}

TEST_P(SimConvergeKinds, TwoPlacesAreLikeOne) {
  const Kind& kind = GetParam();
  const std::vector<std::uint32_t> expected = result(at_place(kind, ""));
  EXPECT_EQ(result("and.b32 %r3, %r0, 3; setp.eq.u32 %p9, %r3, 1; @%p9 bra OTHER;\n" + at_place(kind, "") +
                   "bra END;\nOTHER:\n" + at_place(kind, "1") + "END:\n"),
            expected);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, SimConvergeKinds,
    testing::Values(Kind{"Idx", "shfl.sync.idx.b32 %r{0}2, %r{0}1, %r9, 31, -1;"},
                    Kind{"Butterfly", "shfl.sync.bfly.b32 %r{0}2, %r{0}1, 1, 31, -1;"},
                    Kind{"Up",
                         "shfl.sync.up.b32 %r{0}2|%p{0}2, %r{0}1, 3, 0, -1; @!%p{0}2 add.u32 %r{0}2, "
                         "%r{0}2, 1000;"},
                    Kind{"Down", "shfl.sync.down.b32 %r{0}1, %r{0}1, 5, 31, -1; mov.u32 %r{0}2, %r{0}1;"},
                    Kind{"Ballot", "vote.sync.ballot.b32 %r{0}2, %p{0}1, -1;"},
                    Kind{"Any", "vote.sync.any.pred %p{0}1, %p{0}1, -1; selp.u32 %r{0}2, 1, 0, %p{0}1;"},
                    Kind{"All", "vote.sync.all.pred %p{0}2, %p{0}1, -1; selp.u32 %r{0}2, 1, 0, %p{0}2;"},
                    Kind{"MatchAny", "match.any.sync.b32 %r{0}2, %r{0}1, -1;"},
                    Kind{"MatchAny64", "match.any.sync.b64 %r{0}2, %d{0}1, -1;"},
                    Kind{"MatchAll",
                         "match.all.sync.b32 %r{0}2|%p{0}2, %r{0}1, -1; @%p{0}2 add.u32 %r{0}2, "
                         "%r{0}2, 5;"},
                    Kind{"Sum", "redux.sync.add.u32 %r{0}2, %r{0}1, -1;"},
                    Kind{"Largest", "redux.sync.max.s32 %r{0}2, %r{0}1, -1;"},
                    Kind{"Elect", "elect.sync %r{0}2|%p{0}2, -1; @%p{0}2 add.u32 %r{0}2, %r{0}2, 77;"}),
    [](const auto& one) { return one.param.name; });

TEST(SimConverge, PlacesInFramesOfAFunction) {
  // Each branch calls: one function, two activations.
  TestRun test(
      kernel("setp.lt.u32 %p1, %r0, 10; @%p1 bra LOW; add.u32 %r1, %r0, 100; call (%r2), swapped, (%r1);\n"
             "bra END;\nLOW: call (%r2), swapped, (%r0); add.u32 %r2, %r2, 1000;\n"
             "END: st.global.u32 [%d0], %r2; ret;",
             ".func (.reg .b32 %o) swapped(.reg .b32 %i) { shfl.sync.bfly.b32 %o, %i, 31, 31, -1; ret; }"));
  const auto& out = test.words(32);
  const LaunchReport report = test.run();
  EXPECT_TRUE(report.clean()) << report.text();
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], (31 - lane) + (31 - lane >= 10 ? 100 : 0) + (lane < 10 ? 1000 : 0));
}

TEST(SimConverge, ThreePlacesAndAnExit) {
  // Lanes from 24 on exit after the others wait, in three places.
  TestRun test(
      kernel("setp.ge.u32 %p1, %r0, 24; @%p1 bra GONE; and.b32 %r1, %r0, 3; setp.eq.u32 %p2, %r1, 0;\n"
             "@%p2 bra A; setp.eq.u32 %p3, %r1, 1; @%p3 bra B;\n"
             "redux.sync.add.u32 %r2, %r0, -1; bra END;\n"
             "A: redux.sync.add.u32 %r2, 1, -1; bra END;\n"
             "B: redux.sync.add.u32 %r2, %r1, -1;\n"
             "END: st.global.u32 [%d0], %r2; ret;\n"
             "GONE: st.global.u32 [%d0], %r0; ret;"));
  const auto& out = test.words(32);
  const LaunchReport report = test.run();
  EXPECT_TRUE(report.clean()) << report.text();
  std::uint32_t sum = 0;
  for (std::uint32_t lane = 0; lane < 24; ++lane) sum += lane % 4 < 2 ? 1 : lane;
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane < 24 ? sum : lane);
}

TEST(SimConverge, MarksComeFromEachLanesPlace) {
  // Lanes below 16 give a register that only lane 3 has not written; its partner in the other branch stores
  // it.
  TestRun test(
      kernel("setp.lt.u32 %p1, %r0, 16; @%p1 bra LOW; shfl.sync.bfly.b32 %r2, %r0, 16, 31, -1; bra END;\n"
             "LOW: setp.ne.u32 %p2, %r0, 3; @%p2 mov.u32 %r5, 7; shfl.sync.bfly.b32 %r2, %r5, 16, 31, -1;\n"
             "END: st.global.u32 [%d0], %r2; ret;"));
  const auto& out = test.words(32);
  const LaunchReport report = test.run();
  ASSERT_EQ(report.findings.size(), 1u) << report.text();
  EXPECT_EQ(report.findings[0].kind, FindingKind::uninitialized);
  EXPECT_EQ(report.findings[0].count, 1u);
  EXPECT_EQ(report.findings[0].thread.x, 19u);
  EXPECT_EQ(out[20], 7u);
  EXPECT_EQ(out[4], 20u);
}

TEST(SimConverge, OtherQualifiersNeverMeet) {
  for (const auto& [one, other] : std::vector<std::pair<std::string, std::string>>{
           {"shfl.sync.bfly.b32 %r2, %r0, 1, 31, -1", "shfl.sync.down.b32 %r2, %r0, 1, 31, -1"},
           {"redux.sync.min.u32 %r2, %r0, -1", "redux.sync.min.s32 %r2, %r0, -1"},
           {"match.any.sync.b32 %r2, %r0, -1", "match.any.sync.b64 %r2, %d2, -1"}}) {
    TestRun test(kernel(format_text(
        "setp.lt.u32 %p1, %r0, 16; @%p1 bra LOW; {}; bra END;\nLOW: {};\nEND: st.global.u32 [%d0], %r2; ret;",
        one, other)));
    test.words(32);
    const LaunchReport report = test.run();
    ASSERT_GT(report.count(FindingKind::warp_sync), 0u) << one;
    const std::string& message = report.findings[0].message;
    const bool first = report.findings[0].place.instruction == one;
    EXPECT_THAT(message, HasSubstr("of mask 0xffffffff"));
    EXPECT_THAT(message, HasSubstr(first ? other : one));
  }
}

TEST(SimConverge, AShuffleOfALaneThatTakesNoPartIsUndefined) {
  // Lane 0 reads lane 20, lane 1 lane 21 and so on; only lanes whose result is used are told.
  const std::string body =
      "setp.ge.u32 %p1, %r0, 16; @%p1 exit; add.u32 %r1, %r0, {}; shfl.sync.idx.b32 %r2, %r0, %r1, 31, "
      "0xffff;\n"
      "setp.eq.u32 %p2, %r0, 2; @!%p2 mov.u32 %r2, 5; st.global.u32 [%d0], %r2; ret;";
  TestRun used(kernel(format_text(body, 14)));  // lane 2 reads lane 16
  used.words(32);
  const LaunchReport report = used.run();
  ASSERT_EQ(report.findings.size(), 1u) << report.text();
  EXPECT_EQ(report.findings[0].kind, FindingKind::uninitialized);
  EXPECT_EQ(report.findings[0].thread.x, 2u);
  TestRun unused(kernel(format_text(body, 13)));  // lane 2 reads lane 15, those above it nobody
  unused.words(32);
  EXPECT_TRUE(unused.run().clean());
}

}  // namespace
}  // namespace gpuforge::sim
