#include "gpuforge/base/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "gpuforge/base/file.h"
#include "gpuforge/base/temporary_folder_for_tests.h"

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

// A file that takes what is passed on.
struct Target {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "passed";
  const int descriptor = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  ~Target() { ::close(descriptor); }
};

TEST(WatchedChild, PassesOnWhatItPrintsAndKeepsIt) {
  const Target out, err;
  WatchedChild child("/bin/sh", {"-c", "echo one; echo two >&2; exit 5"}, out.descriptor, err.descriptor);
  const ChildResult result = child.wait();
  EXPECT_EQ(result.end, ChildResult::End::exited);
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.out, AllOf(HasSubstr("one\n"), HasSubstr("two\n")));
  EXPECT_EQ(read_file(out.path), "one\n");
  EXPECT_EQ(read_file(err.path), "two\n");
}

TEST(WatchedChild, KeepsTheNewestOfALongOutput) {
  const Target out;
  WatchedChild child("/bin/sh", {"-c", "yes 0123456789 | head -c 12000000; echo last"}, out.descriptor,
                     out.descriptor);
  const ChildResult result = child.wait();
  EXPECT_EQ(result.out.size(), WatchedChild::kKeptBytes);
  EXPECT_TRUE(result.out.ends_with("last\n"));
  EXPECT_EQ(std::filesystem::file_size(out.path), 12000005u);
}

TEST(WatchedChild, DoesNotWaitForWhatItLeavesBehind) {
  const Target out;
  const auto start = std::chrono::steady_clock::now();
  WatchedChild child("/bin/sh", {"-c", "sleep 20 & echo done"}, out.descriptor, out.descriptor);
  EXPECT_TRUE(child.wait().good());
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(10));
}

TEST(WatchedChild, ASignalIsPassedOnAndItMayTidyUp) {
  const Target out;
  WatchedChild child("/bin/sh",
                     {"-c", "trap 'echo tidy; exit 9' INT; echo ready; while :; do sleep 0.05; done"},
                     out.descriptor, out.descriptor);
  std::thread ender([&] {
    while (std::filesystem::file_size(out.path) == 0) std::this_thread::sleep_for(milliseconds(5));
    child.end(SIGINT, seconds(20));
  });
  const ChildResult result = child.wait();
  ender.join();
  EXPECT_EQ(result.code, 9);
  EXPECT_TRUE(result.out.ends_with("tidy\n"));
}

TEST(WatchedChild, OneThatDoesNotListenIsKilled) {
  const Target out;
  WatchedChild child("/bin/sh", {"-c", "trap '' INT; echo ready; while :; do sleep 0.05; done"},
                     out.descriptor, out.descriptor);
  std::thread ender([&] {
    while (std::filesystem::file_size(out.path) == 0) std::this_thread::sleep_for(milliseconds(5));
    child.end(SIGINT, milliseconds(200));
  });
  const ChildResult result = child.wait();
  ender.join();
  EXPECT_EQ(result.end, ChildResult::End::crashed);
  EXPECT_EQ(result.code, SIGKILL);
}

}  // namespace
}  // namespace gpuforge
