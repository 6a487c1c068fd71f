// 10,000 random workloads: whatever they are, nothing is promised twice, nothing is held in the end, nobody
// starves, device time adds up, classes are respected, and the same input gives the same decisions.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "gpuforge/sched/books_for_tests.h"
#include "gpuforge/sched/simulate.h"

namespace gpuforge::sched {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  int below(int count) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(count)); }
  bool one_in(int count) { return below(count) == 0; }
  double between(double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(engine_);
  }

 private:
  std::mt19937_64 engine_;
};

constexpr std::uint64_t kMemory = 100;

WorkloadTask random_task(Random& random, int index, const Workload& workload) {
  WorkloadTask made;
  Task& task = made.task;
  task.name = "t" + std::to_string(index);
  task.qos = static_cast<Qos>(random.below(3));
  task.priority = random.below(11) - 5;
  if (!workload.config.partitions.empty() && random.one_in(2)) task.partition = "p";
  if (!random.one_in(4)) {
    task.memory.limit = static_cast<std::uint64_t>(random.below(random.one_in(10) ? 120 : 70));
    if (task.qos == Qos::guaranteed) task.memory.request = task.memory.limit;
    if (task.qos == Qos::burstable)
      task.memory.request = static_cast<std::uint64_t>(random.below(static_cast<int>(task.memory.limit) + 1));
  }
  if (random.one_in(8)) task.bandwidth.limit = random.between(0.1, 1);
  if (task.qos != Qos::best_effort && random.one_in(2))
    task.bandwidth.request = std::min(task.bandwidth.limit, random.between(0.05, 0.6));
  if (task.qos != Qos::best_effort && random.one_in(4))
    task.compute.request = std::min(task.bandwidth.limit, random.between(0.05, 0.6));
  if (random.one_in(2)) task.arrive_us = random.between(0, 5000);
  if (random.one_in(10)) task.deadline_us = random.between(100, 8000);
  for (int i = 0; i < index; ++i) {
    if (random.one_in(12)) task.after.push_back("t" + std::to_string(i));
  }
  if (random.one_in(10)) made.cancel_us = random.between(0, 8000);
  if (random.one_in(3)) made.requests = 1 + random.below(4);
  if (random.one_in(4)) made.every_us = random.between(100, 3000);
  for (int steps = 1 + random.below(2); steps > 0; --steps) {
    made.steps.push_back(
        {.duration_us = random.between(10, 1000), .vary = 0.5, .count = 1 + random.below(3)});
    if (random.one_in(30)) made.steps.back().failure = "broke";
  }
  return made;
}

Workload random_workload(std::uint64_t seed) {
  Random random(seed);
  Workload workload{.name = "random", .knows_memory = true, .seed = seed};
  workload.config.memory_bytes = kMemory;
  workload.config.slots = random.one_in(4) ? 2 : 1;
  workload.config.patience_us = random.between(500, 20'000);
  workload.config.ageing_us = random.between(1, 200);
  workload.config.burst_us = random.between(0, 5000);
  if (random.one_in(3))
    workload.config.partitions.push_back({.name = "p",
                                          .memory_bytes = static_cast<std::uint64_t>(random.below(80)),
                                          .compute = random.between(0.2, 0.8),
                                          .bandwidth = random.between(0.2, 0.8),
                                          .streams = 1 + random.below(4),
                                          .queue = random.below(4)});
  if (random.one_in(8)) workload.until_us = random.between(100, 10'000);
  const int tasks = 1 + random.below(8);
  for (int i = 0; i < tasks; ++i) workload.tasks.push_back(random_task(random, i, workload));
  return workload;
}

std::string partition_of(const TaskStatus& status) {
  return status.task.partition.empty() ? std::string(kDefaultPartition) : status.task.partition;
}

// Looks at the books between any two steps.
class Watcher {
 public:
  void look(const Scheduler& scheduler) {
    ASSERT_NO_FATAL_FAILURE(expect_books_balance(scheduler));
    ASSERT_NO_FATAL_FAILURE(expect_room_is_used(scheduler));
    ASSERT_NO_FATAL_FAILURE(expect_class_order(scheduler));
    before_.clear();
    for (const TaskId id : scheduler.tasks()) before_.emplace_back(id, scheduler.status(id));
    clocks_ = scheduler.partitions();
    seen_ = scheduler.decisions().size();
  }
  int dispatches() const { return dispatches_; }

 private:
  // The first in a queue does not fit: otherwise it would not be there.
  static void expect_room_is_used(const Scheduler& scheduler) {
    for (const PartitionStatus& partition : scheduler.partitions()) {
      for (const TaskId id : scheduler.tasks()) {
        const TaskStatus status = scheduler.status(id);
        if (status.state != TaskState::queued || partition_of(status) != partition.partition.name) continue;
        if (partition.queued != 1) continue;
        const MemoryAmount& memory = status.task.memory;
        const bool fits =
            memory.request <= partition.partition.memory_bytes - partition.reserved_bytes &&
            (memory.request > 0 || memory.limit == 0 ||
             partition.granted_bytes < partition.partition.memory_bytes) &&
            status.task.compute.request + partition.compute_reserved <= partition.partition.compute - 1e-6 &&
            status.task.bandwidth.request + partition.bandwidth_reserved <=
                partition.partition.bandwidth - 1e-6 &&
            partition.admitted < partition.partition.streams;
        ASSERT_FALSE(fits) << status.task.name << " waits though there is room";
      }
    }
  }

  // Whoever was chosen since the last look: nobody of a higher class in its partition was within its share.
  void expect_class_order(const Scheduler& scheduler) {
    const auto decisions = scheduler.decisions();
    std::size_t first = seen_;
    if (first < decisions.size() && decisions[first].kind == DecisionKind::preempt) ++first;
    if (first >= decisions.size() || decisions[first].kind != DecisionKind::dispatch) return;
    ++dispatches_;
    const TaskStatus chosen = scheduler.status(decisions[first].task);
    double clock_us = 0;
    for (const PartitionStatus& status : clocks_) {
      if (status.partition.name == partition_of(chosen)) clock_us = status.clock_us;
    }
    for (const auto& [id, status] : before_) {
      if (status.state != TaskState::ready || status.held || partition_of(status) != partition_of(chosen))
        continue;
      if (status.task.qos >= chosen.task.qos) continue;
      ASSERT_GT(status.virtual_us, clock_us) << status.task.name;
    }
  }

  std::vector<std::pair<TaskId, TaskStatus>> before_;
  std::vector<PartitionStatus> clocks_;
  std::size_t seen_ = 0;
  int dispatches_ = 0;
};

// Why a task may end otherwise than completed, from the workload alone.
bool may_not_complete(const Workload& workload, const TaskReport& report, std::size_t index) {
  const WorkloadTask& task = workload.tasks[index];
  if (workload.until_us || task.task.deadline_us || task.cancel_us) return true;
  if (std::ranges::any_of(task.steps, [](const KernelStep& step) { return !step.failure.empty(); }))
    return true;
  return !task.task.after.empty() || report.status.state == TaskState::rejected;
}

void check_workload(std::uint64_t seed, int& dispatches) {
  SCOPED_TRACE(seed);
  const Workload workload = random_workload(seed);
  Watcher watcher;
  const RunReport report =
      simulate(workload, {.watch = [&](const Scheduler& scheduler) { watcher.look(scheduler); }});
  dispatches += watcher.dispatches();
  double used_us = 0;
  for (std::size_t i = 0; i < report.tasks.size(); ++i) {
    const TaskStatus& status = report.tasks[i].status;
    ASSERT_TRUE(is_end(status.state)) << status.task.name << " is " << name(status.state);
    if (!may_not_complete(workload, report.tasks[i], i)) {
      ASSERT_EQ(status.state, TaskState::completed) << status.task.name;
    }
    ASSERT_TRUE(status.state == TaskState::completed || !status.message.empty()) << status.task.name;
    used_us += status.used_us;
    ASSERT_LE(status.used_us, status.wanted_us + 1e-6);
  }
  for (const PartitionStatus& partition : report.partitions) {
    ASSERT_EQ(partition.reserved_bytes, 0u);
    ASSERT_EQ(partition.granted_bytes, 0u);
    ASSERT_EQ(partition.admitted + partition.queued, 0);
    ASSERT_EQ(partition.compute_reserved + partition.bandwidth_reserved, 0);
  }
  ASSERT_NEAR(used_us, report.used_us, 1e-6 * (1 + used_us));
  ASSERT_LE(report.used_us, report.end_us * workload.config.slots + 1e-6);
  if (workload.config.slots == 1) {
    for (std::size_t i = 1; i < report.pieces.size(); ++i) {
      const PieceReport& before = report.pieces[i - 1];
      ASSERT_GE(report.pieces[i].start_us, before.start_us + before.duration_us - 1e-6);
    }
  }
  if (seed % 4 == 0) {
    const RunReport again = simulate(random_workload(seed));
    ASSERT_EQ(report.decisions, again.decisions);
    ASSERT_EQ(report.end_us, again.end_us);
  }
}

TEST(RandomWorkloads, KeepEveryPromise) {
  int dispatches = 0;
  for (std::uint64_t seed = 1; seed <= 10'000 && !testing::Test::HasFailure(); ++seed)
    check_workload(seed, dispatches);
  EXPECT_GT(dispatches, 50'000);
}

// Where nobody is late, limited or cancelled, the device never idles while there is work.
TEST(RandomWorkloads, NoTimeIsWasted) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Workload workload = random_workload(seed);
    workload.until_us.reset();
    workload.config.slots = 1;
    for (WorkloadTask& task : workload.tasks) {
      task.task.arrive_us = 0;
      task.task.bandwidth.limit = 1;
      task.every_us.reset();
    }
    const RunReport report = simulate(workload);
    double last_us = 0;
    for (const PieceReport& piece : report.pieces) {
      ASSERT_NEAR(piece.start_us, last_us, 1e-6) << seed;
      last_us = piece.start_us + piece.duration_us;
    }
  }
}

}  // namespace
}  // namespace gpuforge::sched
