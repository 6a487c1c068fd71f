#include "gpuforge/sched/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/device/device_testing.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/sched/run_workload.h"
#include "tests/fake_driver/fake_driver.h"

namespace gpuforge::sched {
namespace {

using testing::HasSubstr;

// Calls functions: one per piece, and one that says what comes after it.
class Calls final : public Body {
 public:
  Calls(std::function<void(Piece&)> submit, std::function<After()> done)
      : submit_(std::move(submit)), done_(std::move(done)) {}
  void submit(Piece& piece) override { submit_(piece); }
  After done(double) override { return done_(); }

 private:
  std::function<void(Piece&)> submit_;
  std::function<After()> done_;
};

// `pieces` host functions, each of which counts.
std::unique_ptr<Body> counting(std::atomic<int>& count, int pieces) {
  return std::make_unique<Calls>(
      [&count](Piece& piece) { piece.stream.enqueue([&count] { ++count; }); },
      [left = pieces]() mutable { return --left > 0 ? After::more : After::finished; });
}

void expect_nothing_reserved(const Executor& executor) {
  for (const PartitionStatus& partition : executor.partitions()) {
    EXPECT_EQ(partition.reserved_bytes, 0u);
    EXPECT_EQ(partition.granted_bytes, 0u);
    EXPECT_EQ(partition.admitted + partition.queued, 0);
  }
}

class ExecutorTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const Environment environment = read_environment();
    try {
      device_ = device::open_device(GetParam(), cuda::search_options(environment));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unavailable) throw;
      GTEST_SKIP() << "no " << GetParam() << " here: " << error.what();
    }
    ContextOptions options;
    options.jit = jit_options(environment);
    options.jit.cache_dir.reset();
    context_ = Context::make(device_, std::move(options));
  }

  std::shared_ptr<device::Device> device_;
  std::shared_ptr<Context> context_;
};

TEST_P(ExecutorTest, EverybodyRunsAndIsMeasured) {
  Executor executor(device_, {.memory_bytes = 100});
  std::atomic<int> first = 0;
  std::atomic<int> second = 0;
  const TaskId a =
      executor.submit({.name = "a", .qos = Qos::guaranteed, .memory = {60, 60}}, counting(first, 5));
  const TaskId b =
      executor.submit({.name = "b", .qos = Qos::guaranteed, .memory = {60, 60}}, counting(second, 3));
  executor.wait(a);
  executor.wait(b);
  executor.wait_all();
  EXPECT_EQ(first, 5);
  EXPECT_EQ(second, 3);
  EXPECT_EQ(executor.status(a).pieces, 5u);
  EXPECT_EQ(executor.status(b).state, TaskState::completed);
  const RunReport report = executor.report();
  EXPECT_EQ(report.pieces.size(), 8u);
  EXPECT_GT(report.used_us, 0);
  EXPECT_GE(report.end_us, report.used_us);
  expect_nothing_reserved(executor);
}

TEST_P(ExecutorTest, WhatABodyThrowsEndsItsTaskAlone) {
  Executor executor(device_, {.memory_bytes = 100});
  std::atomic<int> count = 0;
  std::atomic<int> queued = 0;
  const TaskId submits =
      executor.submit({.name = "submits", .memory = {0, 50}}, std::make_unique<Calls>(
                                                                  [&](Piece& piece) {
                                                                    piece.stream.enqueue([&] { ++queued; });
                                                                    throw std::runtime_error("no weights");
                                                                  },
                                                                  [] { return After::more; }));
  const TaskId ends = executor.submit(
      {.name = "ends"},
      std::make_unique<Calls>([](Piece&) {}, []() -> After { throw std::runtime_error("no answer"); }));
  const TaskId odd = executor.submit(
      {.name = "odd"}, std::make_unique<Calls>([](Piece&) { throw 7; }, [] { return After::more; }));
  const TaskId waits = executor.submit({.name = "waits", .after = {"submits"}}, counting(count, 1));
  const TaskId good = executor.submit({.name = "good"}, counting(count, 10));
  executor.wait_all();
  EXPECT_EQ(executor.status(submits).state, TaskState::failed);
  EXPECT_EQ(executor.status(submits).message, "no weights");
  EXPECT_EQ(queued, 1) << "what was queued is waited for";
  EXPECT_EQ(executor.status(ends).message, "no answer");
  EXPECT_THAT(executor.status(odd).message, HasSubstr("no exception"));
  EXPECT_EQ(executor.status(waits).message, "submits did not complete");
  EXPECT_EQ(executor.status(good).state, TaskState::completed);
  EXPECT_EQ(count, 10);
  expect_nothing_reserved(executor);
}

TEST_P(ExecutorTest, WorkThatFailsOnTheDeviceEndsItsTaskAlone) {
  Executor executor(device_, {});
  std::atomic<int> count = 0;
  const TaskId bad = executor.submit(
      {.name = "bad"},
      std::make_unique<Calls>(
          [](Piece& piece) { piece.stream.enqueue([] { throw std::runtime_error("broke"); }); },
          [] { return After::more; }));
  const TaskId good = executor.submit({.name = "good"}, counting(count, 10));
  executor.wait_all();
  EXPECT_EQ(executor.status(bad).state, TaskState::failed);
  EXPECT_THAT(executor.status(bad).message, HasSubstr("broke"));
  EXPECT_EQ(executor.status(good).state, TaskState::completed);
}

TEST_P(ExecutorTest, ARestingTaskIsWokenEvenWhileItRuns) {
  Executor executor(device_, {});
  std::atomic<int> pieces = 0;
  std::atomic<bool> stop = false;
  const TaskId id =
      executor.submit({.name = "server", .qos = Qos::guaranteed},
                      std::make_unique<Calls>([&](Piece& piece) { piece.stream.enqueue([&] { ++pieces; }); },
                                              [&] { return stop ? After::finished : After::rest; }));
  for (int i = 1; i <= 50; ++i) {
    ASSERT_TRUE(device::eventually([&] { return pieces >= i; })) << i;
    if (i == 50) stop = true;
    executor.wake(id);  // at once: it may still be on the device
  }
  executor.wait(id);
  EXPECT_EQ(executor.status(id).state, TaskState::completed);
}

// Asks, from another thread, whenever it is called and when it goes; whoever answers needs the executor's
// lock.
class Asks final : public Body {
 public:
  Asks(std::function<bool()> ask, std::vector<std::string>& unanswered)
      : ask_(std::move(ask)), unanswered_(unanswered) {}
  ~Asks() override { note("destroyed"); }
  void submit(Piece&) override { note("submit"); }
  After done(double) override {
    note("done");
    return After::finished;
  }
  void release() override {
    note("release");
    throw std::runtime_error("too late to matter");
  }

 private:
  void note(const char* when) {
    if (!ask_()) unanswered_.push_back(when);
  }
  std::function<bool()> ask_;
  std::vector<std::string>& unanswered_;
};

TEST_P(ExecutorTest, BodiesAreCalledAndDestroyedWithoutItsLock) {
  std::vector<std::string> unanswered;
  std::vector<std::future<void>> answers;
  std::atomic<int> asked = 0;
  {
    Executor executor(device_, {.memory_bytes = 100});
    const auto ask = [&] {
      ++asked;
      answers.push_back(std::async(std::launch::async, [&] { executor.partitions(); }));
      return answers.back().wait_for(std::chrono::seconds(10)) == std::future_status::ready;
    };
    const TaskId id = executor.submit({.name = "asks"}, std::make_unique<Asks>(ask, unanswered));
    executor.wait_all();
    EXPECT_EQ(executor.status(id).state, TaskState::completed);
    while (asked < 4) std::this_thread::yield();  // the last when it goes
  }
  EXPECT_THAT(unanswered, testing::IsEmpty());
}

TEST_P(ExecutorTest, CancellingWaitsForThePieceOnTheDevice) {
  device::Gate gate;
  Executor executor(device_, {.memory_bytes = 10});
  const TaskId id =
      executor.submit({.name = "long", .qos = Qos::guaranteed, .memory = {10, 10}},
                      std::make_unique<Calls>([&](Piece& piece) { piece.stream.enqueue(gate.work()); },
                                              [] { return After::more; }));
  ASSERT_TRUE(device::eventually([&] { return executor.status(id).state == TaskState::running; }));
  EXPECT_TRUE(executor.cancel(id, "enough"));
  EXPECT_EQ(executor.status(id).state, TaskState::cancelling);
  EXPECT_EQ(executor.partitions()[0].reserved_bytes, 10u);
  gate.open();
  executor.wait(id);
  EXPECT_EQ(executor.status(id).state, TaskState::cancelled);
  EXPECT_EQ(executor.status(id).message, "enough");
  EXPECT_FALSE(executor.cancel(id));
  executor.wait_all();
  executor.forget(id);
  expect_nothing_reserved(executor);
}

TEST_P(ExecutorTest, DestroyingItMidwayEndsEverything) {
  std::atomic<int> count = 0;
  {
    Executor executor(device_, {.memory_bytes = 100});
    for (int i = 0; i < 20; ++i)
      executor.submit({.name = "t" + std::to_string(i), .memory = {0, 100}}, counting(count, 1'000'000));
    ASSERT_TRUE(device::eventually([&] { return count > 10; }));
  }
  const int then = count;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(count, then);
}

TEST_P(ExecutorTest, DeadlinesComeByTheClock) {
  Executor executor(device_, {.memory_bytes = 10});
  std::atomic<int> count = 0;
  const TaskId late = executor.submit({.name = "late", .deadline_us = 5000}, counting(count, 1'000'000'000));
  executor.wait(late);
  EXPECT_EQ(executor.status(late).state, TaskState::failed);
  EXPECT_GE(*executor.status(late).ended_us, 5000);
}

TEST_P(ExecutorTest, EightThreadsSubmitCancelWakeAndLook) {
  Executor executor(device_, {.memory_bytes = 1000, .slots = 2});
  std::atomic<int> count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const std::string name = "t" + std::to_string(t) + "-" + std::to_string(i);
        const auto qos = static_cast<Qos>(i % 3);
        const std::uint64_t bytes = 10 + static_cast<std::uint64_t>(i) * 7;
        const TaskId id = executor.submit(
            {.name = name, .qos = qos, .memory = {qos == Qos::best_effort ? 0 : bytes, bytes}},
            counting(count, 1 + i % 4));
        if (i % 5 == 0) executor.cancel(id);
        if (i % 3 == 0) executor.wake(id);
        executor.status(id);
        if (i % 4 == 0) {
          executor.wait(id);
          executor.report();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  executor.wait_all();
  int ended = 0;
  for (const TaskReport& task : executor.report().tasks) {
    ended += is_end(task.status.state);
    EXPECT_TRUE(task.status.state == TaskState::completed || task.status.state == TaskState::cancelled);
  }
  EXPECT_EQ(ended, 200);
  EXPECT_GT(count, 200);
  expect_nothing_reserved(executor);
}

// A share is kept but for the pieces at either end, which last long on a machine that is busy otherwise.
TEST_P(ExecutorTest, SharesAreKeptByMeasuredTime) {
  const Workload workload = read_workload(
      "until: 400ms\n"
      "device: {burst: 1ms}\n"
      "tasks:\n"
      "  - {name: served, class: guaranteed, bandwidth: 0.3, requests: 1000000,\n"
      "     kernels: [{spin: 300us, vary: 0.3}]}\n"
      "  - {name: hog, requests: 1000000, kernels: [{spin: 500us, vary: 0.3}]}\n",
      "shares.yaml");
  const RunReport report = run_workload(workload, context_);
  EXPECT_EQ(report.device, device_->facts().name);
  double longest_us = 0;
  for (const PieceReport& piece : report.pieces) longest_us = std::max(longest_us, piece.duration_us);
  const double slack = 0.03 + 3 * longest_us / report.used_us;
  EXPECT_NEAR(report.tasks[0].status.used_us / report.used_us, 0.3, slack);
  EXPECT_NEAR(report.tasks[1].status.used_us / report.used_us, 0.7, slack);
}

TEST_P(ExecutorTest, AWorkloadWithAllKindsOfEndsRuns) {
  const Workload workload = read_workload(
      "device: {memory: 64MiB}\n"
      "tasks:\n"
      "  - {name: broken, kernels: [{spin: 100us, fails: bad weights}]}\n"
      "  - {name: child, after: [broken], kernels: [{spin: 100us}]}\n"
      "  - {name: giant, class: guaranteed, memory: 65MiB, kernels: [{spin: 100us}]}\n"
      "  - {name: mover, memory: 8MiB, kernels: [{stream: 16MiB, count: 3}]}\n"
      "  - {name: starved, memory: 100, kernels: [{stream: 16MiB}]}\n"
      "  - {name: stopped, cancel: 10ms, requests: 1000000, kernels: [{spin: 100us}]}\n"
      "  - {name: served, class: guaranteed, memory: 1MiB, every: 2ms, requests: 5, kernels: [{spin: 100us, "
      "count: 2}]}\n"
      "expect:\n"
      "  - {task: broken, state: failed, message: bad weights}\n"
      "  - {task: child, state: failed}\n"
      "  - {task: giant, state: rejected}\n"
      "  - {task: mover, state: completed}\n"
      "  - {task: starved, state: failed, message: the task may use 100 B}\n"
      "  - {task: stopped, state: cancelled}\n"
      "  - {task: served, state: completed}\n",
      "ends.yaml");
  const RunReport report = run_workload(workload, context_);
  EXPECT_THAT(unmet(workload, report), testing::IsEmpty());
  EXPECT_EQ(report.tasks[6].latencies_us.size(), 5u);
  EXPECT_GE(*std::ranges::min_element(report.tasks[6].latencies_us), 200);
}

INSTANTIATE_TEST_SUITE_P(Cpu, ExecutorTest, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Sim, ExecutorTest, testing::Values("sim"));
INSTANTIATE_TEST_SUITE_P(Gpu, ExecutorTest, testing::Values("cuda:0"));

// 700: the device is lost, and every later call says so. 2: one call fails, and what was made is given back.
class ExecutorOnAFailingDevice : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Codes, ExecutorOnAFailingDevice, testing::Values(700, 2));

TEST_P(ExecutorOnAFailingDevice, EveryTaskEndsWithTheReasonAndNothingIsHeld) {
  fake_driver::FakeDriver fake;
  {
    const auto device = device::open_device("cuda:0", fake_driver::FakeDriver::search());
    Executor executor(device, {.memory_bytes = 100});
    std::atomic<int> count = 0;
    for (const char* name : {"a", "b", "c"})
      executor.submit({.name = name, .qos = Qos::guaranteed, .memory = {10, 10}}, counting(count, 1'000'000));
    ASSERT_TRUE(device::eventually([&] { return count > 20; }));
    fake.fail("cuEventQuery", GetParam());
    executor.wait_all();
    for (const TaskReport& task : executor.report().tasks) {
      EXPECT_EQ(task.status.state, TaskState::failed) << task.status.task.name;
      EXPECT_THAT(task.status.message, HasSubstr(GetParam() == 700 ? "ILLEGAL_ADDRESS" : "OUT_OF_MEMORY"));
    }
    expect_nothing_reserved(executor);
  }
  if (GetParam() == 700) return;  // a lost device takes nothing back
  EXPECT_EQ(fake.counters().streams, 0u);
  EXPECT_EQ(fake.counters().events, 0u);
}

TEST(RunWorkload, AMemorySizeTheDeviceLacksIsRefused) {
  const auto context = Context::make(device::make_cpu_device());
  const Workload workload =
      read_workload("device: {memory: 100000TiB}\ntasks: [{name: a, kernels: [{spin: 1ms}]}]", "w.yaml");
  try {
    run_workload(workload, context);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("w.yaml: says that the device has 97.7 PiB, but cpu has"));
  }
}

}  // namespace
}  // namespace gpuforge::sched
