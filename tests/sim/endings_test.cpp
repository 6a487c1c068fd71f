// Kernels that do not end, end themselves, or print.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/sim/seeded_bug.h"

namespace gpuforge::sim_bugs {
namespace {

using sim::Finding;
using testing::HasSubstr;

Case of(std::string kernel, std::uint32_t threads, std::size_t out, std::uint32_t n = 0) {
  return {.file = "endings.cu",
          .kernel = std::move(kernel),
          .geometry = {.block = {threads, 1, 1}},
          .out = Words(out),
          .in = numbered(32),
          .n = n};
}

TEST(SimBugs, EndlessLoop) {
  Case one = of("endless", 1, 1);
  one.step_limit = 100'000;
  check({.setup = one, .expected = {2}});
}

TEST(SimBugs, EndlessRecursion) {
  // words[i] holds in[i * 11 % 16 % 4], shifted by the depth.
  std::uint32_t expected = 0;
  for (std::uint32_t n = 0; n <= 2; ++n) {
    Words words(16);
    for (std::uint32_t i = 0; i < 16; ++i) words[(i * 3 + n) % 16] = i % 4 + 1;
    expected += words[n == 0 ? 1 : 2];
  }
  check({.setup = of("recursion", 32, 32, 2), .expected = filled(32, expected)});
}

TEST(SimBugs, Assertion) {
  check({.setup = of("assertion", 32, 32),
         .expected = filled(32, 1),
         .each = [](const Finding& finding, const Ran&) {
           EXPECT_EQ(finding.thread.x, 30u);
           EXPECT_THAT(finding.message, HasSubstr("in[i] <= 30"));
         }});
}

TEST(SimBugs, Trap) {
  check({.setup = of("trap", 32, 32),
         .expected = filled(32, 1),
         .each = [](const Finding& finding, const Ran&) { EXPECT_EQ(finding.thread.x, 5u); }});
}

TEST(SimBugsLegal, Print) {
  for (const jit::CompilerChoice front_end : front_ends()) {
    SCOPED_TRACE(front_end_name(front_end));
    const auto compiled = compile("endings.cu", text_of("endings.cu"), {}, front_end);
    const Ran ran = run(of("print", 32, 32, 2), *compiled, "print", 0);
    EXPECT_EQ(ran.report.findings_text(), "");
    EXPECT_EQ(ran.report.printed,
              "0: -1 text 0.250 x 123456789abc     1|%\n1: -2 text 0.500 x 123456789abc     2|%\n");
    EXPECT_EQ(ran.out, filled(32, 1));
  }
}

}  // namespace
}  // namespace gpuforge::sim_bugs
