// Where findings say they are: source lines, inlined functions, and suppression by both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "gpuforge/base/json.h"
#include "gpuforge/sim/run_for_tests.h"

namespace gpuforge::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// inner() (line 2) is inlined in middle() at lines 5 and 6, and that in the kernel at line 12; nothing is
// mapped at address 0.
std::string inlined_text() {
  return module_text(
             ".loc 1 12 3\n.loc 1 5 3, function_name $L0, inlined_at 1 12 3\n"
             ".loc 1 2 3, function_name $L1, inlined_at 1 5 3\nld.param.u64 %d1, [a]; ld.global.u32 %r1, "
             "[%d1];\n"
             ".loc 1 6 3, function_name $L0, inlined_at 1 12 3\n"
             ".loc 2 2 3, function_name $L1, inlined_at 1 6 3\nld.global.u32 %r1, [%d1+400];\nret;",
             1) +
         ".file 1 \"/src/tile.cu\"\n.file 2 \"C:\\src\\deep.cuh\"\n.section .debug_str\n{\n"
         "$L0:\n.b8 95,90,54,109,105,100,100,108,101,80,75,102,105,0\n"
         "$L1:\n.b8 95,90,53,105,110,110,101,114,80,75,102,105,0\n}\n";
}

TEST(SimPlace, InlinedCodeNamesItsCalls) {
  TestRun test(inlined_text());
  test.words(100);
  const LaunchReport report = test.run({1, 1, 1}, {1, 1, 1});
  ASSERT_EQ(report.findings.size(), 1u);
  const Place& place = report.findings[0].place;
  EXPECT_EQ(place.file, "C:\\src\\deep.cuh");
  EXPECT_EQ(place.line, 2u);
  ASSERT_EQ(place.inlined.size(), 2u);
  EXPECT_EQ(place.inlined[0].function, "_Z5innerPKfi");
  EXPECT_EQ(place.inlined[0].line, 6u);
  EXPECT_EQ(place.inlined[1].function, "_Z6middlePKfi");
  EXPECT_EQ(place.inlined[1].line, 12u);
  EXPECT_THAT(report.text(200),
              HasSubstr("out of bounds at deep.cuh:2 in inner, inlined at tile.cu:6 in middle, "
                        "inlined at tile.cu:12, kernel k"));
  const Json json = Json::parse(report.json()).at("findings").as_array().at(0).at("place");
  EXPECT_EQ(json.at("inlined").as_array().at(1).at("function").as_string(), "_Z6middlePKfi");
  EXPECT_EQ(json.at("inlined").as_array().at(1).at("name").as_string(), "middle");
  EXPECT_EQ(json.at("inlined").as_array().at(1).at("line").as_integer(), 12);
}

TEST(SimPlace, SuppressionsAreOfALineOrOfACallOfInlinedCode) {
  TestRun test(inlined_text());
  test.words(100);
  const auto suppressed = [&](const char* file, std::uint32_t line) {
    test.options.suppressions = {{file, line}};
    const LaunchReport report = test.run({1, 1, 1}, {1, 1, 1});
    EXPECT_EQ(report.findings.size(), 1u) << "it is listed all the same";
    return report.clean();
  };
  EXPECT_TRUE(suppressed("deep.cuh", 2));
  EXPECT_TRUE(suppressed("C:\\src\\deep.cuh", 2));
  EXPECT_TRUE(suppressed("tile.cu", 6));
  EXPECT_TRUE(suppressed("src/tile.cu", 12));
  EXPECT_FALSE(suppressed("tile.cu", 5)) << "the other call";
  EXPECT_FALSE(suppressed("tile.cu", 2)) << "the other file";
  EXPECT_FALSE(suppressed("eep.cuh", 2));
  EXPECT_FALSE(suppressed("", 2));
}

TEST(SimPlace, PtxWithoutSourceLinesIsSuppressedByItsOwn) {
  TestRun test(module_text("\nld.global.u32 %r1, [0];\nret;", 0));
  const LaunchReport report = test.run({1, 1, 1}, {1, 1, 1});
  ASSERT_EQ(report.findings.size(), 1u);
  test.options.suppressions = {{"test.ptx", report.findings[0].place.ptx_line}};
  EXPECT_TRUE(test.run({1, 1, 1}, {1, 1, 1}).clean());
  test.options.suppressions = {{"test.ptx", report.findings[0].place.ptx_line + 1}};
  EXPECT_FALSE(test.run({1, 1, 1}, {1, 1, 1}).clean());
}

// An unrolled loop is one place; two calls of one function are two.
TEST(SimPlace, CallsOfOneFunctionAreFindingsOfTheirOwn) {
  const auto store = [](int call) {
    return format_text(
        ".loc 1 {0} 3\n.loc 1 2 3, function_name $L, inlined_at 1 {0} 3\nst.shared.u32 [s], %r0;\n", call);
  };
  TestRun test(
      module_text(".shared .u32 s; mov.u32 %r0, %tid.x;\n" + store(5) + store(5) + store(7) + "ret;", 0) +
      ".file 1 \"/src/tile.cu\"\n");
  const LaunchReport report = test.run({1, 1, 1}, {64, 1, 1});
  std::set<std::uint32_t> calls;
  for (const Finding& finding : report.findings) calls.insert(finding.place.inlined.at(0).line);
  EXPECT_THAT(calls, testing::ElementsAre(5, 7)) << report.text();
}

TEST(SimPlace, KernelsHaveReadableNames) {
  std::string text = module_text("ret;", 0);
  text.replace(text.find("k("), 2, "_Z4tileIfLi3EEvPT_4Walk(");
  const auto program = load_program(std::make_shared<Memory>(), text, "test.ptx");
  const LaunchReport report = launch(*program, "_Z4tileIfLi3EEvPT_4Walk", {}, {});
  EXPECT_THAT(report.text(), testing::StartsWith("kernel tile<float, 3>, grid"));
  const Json json = Json::parse(report.json());
  EXPECT_EQ(json.at("kernel").as_string(), "_Z4tileIfLi3EEvPT_4Walk");
  EXPECT_EQ(json.at("kernel_name").as_string(), "tile<float, 3>");
}

}  // namespace
}  // namespace gpuforge::sim
