// The files of tests/sched: each comes out as it says it must; those of tests/sched/bad are refused as they
// say.
#include "gpuforge/sched/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/sched/books_for_tests.h"
#include "gpuforge/sched/simulate.h"

namespace gpuforge::sched {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

const fs::path kFolder = fs::path(GPUFORGE_SOURCE_DIR) / "tests" / "sched";

TEST(Workloads, EveryScenarioEndsAsItSays) {
  const auto files = files_in(kFolder);
  EXPECT_GE(files.size(), 20u);
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    const Workload workload = read_workload(read_file(file), file.filename().string());
    EXPECT_FALSE(workload.expectations.empty());
    const RunReport report = simulate(workload, {.watch = [](const Scheduler& scheduler) {
                                        ASSERT_NO_FATAL_FAILURE(expect_books_balance(scheduler));
                                      }});
    EXPECT_THAT(unmet(workload, report), testing::IsEmpty());
    EXPECT_EQ(report.decisions, simulate(workload).decisions);
  }
}

TEST(Workloads, ExpectationsCanFail) {
  const Workload workload = read_workload(
      "tasks:\n"
      "  - {name: a, kernels: [{spin: 1ms}]}\n"
      "  - {name: b, arrive: 5ms, kernels: [{spin: 1ms}]}\n"
      "expect:\n"
      "  - {task: a, state: failed}\n"
      "  - {task: a, share: 0.5}\n"
      "  - {task: a, p99_at_most: 900us}\n"
      "  - {task: b, ended_at_most: 1ms}\n"
      "  - {task: a, message: broke}\n"
      "  - {decision: preempt}\n"
      "  - {task: a, decision: dispatch, times: 2}\n"
      "  - {order: [b, a]}\n",
      "w.yaml");
  EXPECT_THAT(
      unmet(workload, simulate(workload)),
      testing::ElementsAre(
          "w.yaml:5: expected a to be failed; it is completed",
          "w.yaml:6: expected a to get 0.5 of the time it wanted, give or take 0.03; it got 1.000",
          "w.yaml:7: expected 99 % of the requests of a to take at most 900 us; it is 1.00 ms (1 requests)",
          "w.yaml:8: expected b to end by 1.00 ms; it ended at 6.00 ms",
          "w.yaml:9: expected the message of a to have 'broke' in it; it is ''",
          "w.yaml:10: expected the decision preempt at least once, and found it 0 times",
          "w.yaml:11: expected the decision dispatch on a 2 times, and found it 1 times",
          "w.yaml:12: expected b to end before a, but it ended at 6.00 ms, and the other at 1.00 ms"));
}

TEST(Workloads, BadFilesAreRefusedWithLineAndReason) {
  const auto files = files_in(kFolder / "bad");
  EXPECT_GE(files.size(), 20u);
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    const std::string text = read_file(file);
    const std::string expected = text.substr(9, text.find('\n') - 9);
    ASSERT_TRUE(text.starts_with("# error: "));
    try {
      read_workload(text, file.filename().string());
      ADD_FAILURE() << "was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::parse);
      EXPECT_THAT(error.message(), testing::HasSubstr(expected));
    }
  }
}

TEST(Workloads, ASimulationNeedsToKnowTheMemory) {
  const Workload workload =
      read_workload("tasks: [{name: a, memory: 1GiB, kernels: [{spin: 1ms}]}]", "w.yaml");
  try {
    simulate(workload);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), testing::HasSubstr("device: {memory: 80GiB}"));
  }
}

TEST(Workloads, ASimulationNeedsToKnowHowLongAKernelTakes) {
  const std::string text =
      "device: {memory: 1GiB}\n"
      "tasks:\n"
      "  - {name: a, memory: 1MiB, requests: 4, kernels: [{kernel: scale.cu, shape: 64, takes: 20us}]}\n";
  EXPECT_EQ(simulate(read_workload(text, "w.yaml")).used_us, 80);
  Workload workload = read_workload(text, "w.yaml");
  workload.tasks[0].steps[0].duration_us = 0;
  try {
    simulate(workload);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), testing::HasSubstr("w.yaml:3: a simulation does not run scale.cu"));
  }
}

// Whatever stands in a file, it is read or refused with a sentence.
TEST(Workloads, MutatedFilesAreReadOrRefused) {
  std::vector<std::string> texts;
  for (const fs::path& folder : {kFolder, kFolder / "bad"}) {
    for (const fs::path& file : files_in(folder)) texts.push_back(read_file(file));
  }
  const std::string tokens[] = {"-1",   "0",     "1e308", "nan",
                                "~",    "[]",    "{}",    "9223372036854775808",
                                "&a ",  "*a",    "\n",    "  ",
                                ": ",   "- ",    "\t",    "99999999999999999999GiB",
                                "0us",  "1e12s", "true",  "copies: 100000",
                                "\xff", "'",     "\"",    "#"};
  std::mt19937 random(11);
  int refused = 0;
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = texts[random() % texts.size()];
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      const std::size_t at = random() % (text.size() + 1);
      const std::size_t length = std::min<std::size_t>(random() % 8, text.size() - at);
      if (random() % 2 == 0) {
        text.replace(at, length, tokens[random() % std::size(tokens)]);
      } else {
        const std::string& other = texts[random() % texts.size()];
        const std::size_t from = random() % other.size();
        text.replace(at, length, other.substr(from, random() % 40));
      }
    }
    try {
      read_workload(text, "fuzz.yaml");
      ++accepted;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::parse) << error.message() << "\n" << text;
      EXPECT_TRUE(error.message().starts_with("fuzz.yaml")) << error.message();
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(accepted, 500);
}

}  // namespace
}  // namespace gpuforge::sched
