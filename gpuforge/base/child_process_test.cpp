#include "gpuforge/base/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace gpuforge {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

ChildResult shell(const std::string& script, milliseconds limit = seconds(20)) {
  return run_child("/bin/sh", {"-c", script}, limit);
}

TEST(ChildProcess, BringsBackOutputAndCode) {
  const ChildResult good = shell("echo out; echo err >&2");
  EXPECT_TRUE(good.good());
  EXPECT_EQ(good.out, "out\n");
  EXPECT_EQ(good.err, "err\n");
  const ChildResult bad = shell("exit 7");
  EXPECT_EQ(bad.end, ChildResult::End::exited);
  EXPECT_EQ(bad.code, 7);
  EXPECT_FALSE(bad.good());
  EXPECT_EQ(describe(bad, seconds(1)), "exit code 7");
}

TEST(ChildProcess, MoreOutputThanAPipeHolds) {
  const ChildResult result = shell("yes 0123456789 | head -c 300000; yes e | head -c 200000 >&2");
  EXPECT_TRUE(result.good());
  EXPECT_EQ(result.out.size(), 300000u);
  EXPECT_EQ(result.err.size(), 200000u);
}

TEST(ChildProcess, ACrashIsToldFromAnExit) {
  const ChildResult result = shell("kill -SEGV $$");
  EXPECT_EQ(result.end, ChildResult::End::crashed);
  EXPECT_EQ(result.code, SIGSEGV);
  EXPECT_THAT(describe(result, seconds(1)), HasSubstr("ended by signal 11 (Segmentation fault)"));
}

TEST(ChildProcess, AHangEndsAtTheLimit) {
  for (const char* script : {"sleep 60", "exec >&- 2>&-; sleep 60", "trap '' TERM INT; sleep 60"}) {
    const auto start = std::chrono::steady_clock::now();
    const ChildResult result = shell(script, milliseconds(300));
    EXPECT_EQ(result.end, ChildResult::End::timed_out) << script;
    EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(10)) << script;
    EXPECT_EQ(describe(result, milliseconds(300)), "gave no answer in 0.3 s");
  }
}

TEST(ChildProcess, AProgramThatIsNotThere) {
  const ChildResult result = run_child("/nonexistent/program", {}, seconds(5));
  EXPECT_FALSE(result.good());
  EXPECT_EQ(result.code, 127);
}

}  // namespace
}  // namespace gpuforge
