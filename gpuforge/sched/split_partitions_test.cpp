// Partitions with multiprocessors of their own: the decisions, and on a device that splits.
#include "gpuforge/sched/split_partitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>

#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/sched/books_for_tests.h"
#include "gpuforge/sched/executor.h"
#include "tests/fake_driver/fake_driver.h"

namespace gpuforge::sched {
namespace {

using testing::HasSubstr;

SchedulerConfig two_halves(int multiprocessors) {
  SchedulerConfig config{.memory_bytes = 100};
  for (const char* const name : {"left", "right"}) {
    config.partitions.push_back({.name = name,
                                 .memory_bytes = 50,
                                 .compute = 0.5,
                                 .bandwidth = 0.5,
                                 .multiprocessors = multiprocessors,
                                 .of_multiprocessors = 2 * multiprocessors});
  }
  return config;
}

TEST(SplitPartitions, PiecesOfBothAreOnTheDeviceAtOnce) {
  Scheduler scheduler(two_halves(64));
  const TaskId a = scheduler.submit({.name = "a", .partition = "left"}, 0);
  const TaskId b = scheduler.submit({.name = "b", .partition = "left"}, 0);
  const TaskId c = scheduler.submit({.name = "c", .partition = "right"}, 0);
  const auto first = scheduler.next(0);
  const auto second = scheduler.next(0);
  ASSERT_TRUE(first && second);
  EXPECT_NE(scheduler.status(*first).task.partition, scheduler.status(*second).task.partition);
  EXPECT_FALSE(scheduler.next(0)) << "one slot each";
  EXPECT_EQ(scheduler.on_device(), 2);
  expect_books_balance(scheduler);
  for (int i = 0; i < 100; ++i) {
    for (const TaskId id : {a, b, c}) {
      if (on_device(scheduler.state(id))) scheduler.piece_done(id, i * 10.0, 10, After::more);
    }
    while (scheduler.next(i * 10.0)) {
    }
    EXPECT_EQ(scheduler.on_device(), 2);
  }
  // Half the device's time each partition, of which a and b have a half each.
  EXPECT_NEAR(scheduler.status(a).share(), 0.25, 0.02);
  EXPECT_NEAR(scheduler.status(b).share(), 0.25, 0.02);
  EXPECT_NEAR(scheduler.status(c).share(), 0.5, 0.02);
  const auto partitions = scheduler.partitions();
  EXPECT_NEAR(partitions[0].used_us, partitions[1].used_us, 10);
  EXPECT_NEAR(scheduler.used_us(), 1000, 20) << "the device's time, not the sum of what overlapped";
}

// A class has precedence where its task is, and nowhere else.
TEST(SplitPartitions, NobodyIsPreemptedFromElsewhere) {
  Scheduler scheduler(two_halves(64));
  const TaskId batch = scheduler.submit({.name = "batch", .partition = "left"}, 0);
  ASSERT_EQ(scheduler.next(0), batch);
  scheduler.submit({.name = "chat", .qos = Qos::guaranteed, .partition = "right"}, 1);
  scheduler.piece_done(batch, 2, 2, After::more);
  while (scheduler.next(2)) {
  }
  EXPECT_EQ(scheduler.status(batch).preemptions, 0u);
  EXPECT_EQ(scheduler.on_device(), 2);
}

TEST(SplitPartitions, AllHaveTheirOwnOrNone) {
  SchedulerConfig config = two_halves(64);
  config.partitions[1].multiprocessors = 0;
  EXPECT_THROW(Scheduler{config}, Error);
}

TEST(SplitPartitions, LimitsSayWhatWasAskedAndGiven) {
  const Partition given{.name = "a", .compute = 0.3, .multiprocessors = 40, .of_multiprocessors = 132};
  EXPECT_EQ(limits(given)[1].enforcement, Enforcement::hard);
  EXPECT_EQ(limits(given)[1].value, "0.3");
  EXPECT_EQ(limits(given)[1].how, "40 of 132 multiprocessors, which is 0.303");
  EXPECT_EQ(limits(given)[2].enforcement, Enforcement::soft);
  const Partition paced{.name = "a", .compute = 0.3, .shared_because = "cpu: has none"};
  EXPECT_EQ(limits(paced)[1].enforcement, Enforcement::soft);
  EXPECT_EQ(limits(paced)[1].how, "pacing by measured time; cpu: has none");
}

TEST(SplitPartitions, ADeviceThatCannotSplitIsPacedAndTheReasonIsKept) {
  SchedulerConfig config = two_halves(0);
  EXPECT_TRUE(split_partitions(*device::make_cpu_device(), config).parts.empty());
  EXPECT_THAT(config.partitions[0].shared_because, HasSubstr("cpu: has no multiprocessors to split"));
  SchedulerConfig whole{.memory_bytes = 100};
  EXPECT_TRUE(split_partitions(*device::make_cpu_device(), whole).parts.empty());
  EXPECT_EQ(whole.partitions[0].shared_because, "") << "there is nothing to split";
}

TEST(SplitPartitions, TasksLaunchOnTheMultiprocessorsOfTheirPartition) {
  fake_driver::FakeDriver fake;
  struct Seen {
    std::mutex mutex;
    std::set<int> by_name[2];
  } seen;
  fake.on_launch(
      [](const FakeCudaLaunch* launch, void* data) {
        auto& all = *static_cast<Seen*>(data);
        const std::lock_guard lock(all.mutex);
        auto& own = all.by_name[std::string(launch->function) == "left" ? 0 : 1];
        own.insert(launch->multiprocessors, launch->multiprocessors + launch->multiprocessor_count);
      },
      &seen);
  {
    const auto device = device::open_device("cuda:0", fake_driver::FakeDriver::search());
    constexpr std::string_view kImage =
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry left()\n{\n  ret;\n}\n.visible .entry right()\n{\n  ret;\n}\n";
    const auto module = device->load_module(std::as_bytes(std::span(kImage)), "test");
    SchedulerConfig config = two_halves(0);
    config.partitions[0].compute = config.partitions[0].bandwidth = 0.25;
    Executor executor(device, config);
    class Launches final : public Body {
     public:
      explicit Launches(std::shared_ptr<device::Function> function) : function_(std::move(function)) {}
      void submit(Piece& piece) override {
        multiprocessors = piece.multiprocessors;
        piece.stream.launch(*function_, {}, {});
      }
      After done(double) override { return --left_ > 0 ? After::more : After::finished; }
      std::atomic<int> multiprocessors = 0;

     private:
      std::shared_ptr<device::Function> function_;
      int left_ = 3;
    };
    for (const char* const name : {"left", "right"})
      executor.submit({.name = name, .partition = name}, std::make_unique<Launches>(module->function(name)));
    executor.wait_all();
    for (const TaskReport& task : executor.report().tasks)
      EXPECT_EQ(task.status.state, TaskState::completed) << task.status.message;
    EXPECT_EQ(executor.partitions()[0].partition.multiprocessors, 32);
    EXPECT_EQ(executor.partitions()[1].partition.multiprocessors, 64);
    EXPECT_EQ(executor.partitions()[2].partition.name, "default") << "which has the rest";
  }
  EXPECT_EQ(seen.by_name[0].size(), 32u);
  EXPECT_EQ(seen.by_name[1].size(), 64u);
  for (const int one : seen.by_name[0]) EXPECT_FALSE(seen.by_name[1].contains(one));
  EXPECT_EQ(fake.counters().green_contexts, 0u);
}

TEST(SplitPartitions, LessBandwidthThanComputeIsKeptByPacing) {
  fake_driver::FakeDriver fake;
  const auto device = device::open_device("cuda:0", fake_driver::FakeDriver::search());
  SchedulerConfig config = two_halves(0);
  config.partitions[0].bandwidth = 0.2;
  EXPECT_TRUE(split_partitions(*device, config).parts.empty());
  EXPECT_THAT(config.partitions[1].shared_because, HasSubstr("left is to have less bandwidth than compute"));
}

}  // namespace
}  // namespace gpuforge::sched
