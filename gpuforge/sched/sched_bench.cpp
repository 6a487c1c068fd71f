// Scheduling decisions a second on one core: at least 200,000 are asked for. A decision is what the log
// keeps: an admission, a turn, a preemption, an end.
#include <benchmark/benchmark.h>

#include <string>

#include "gpuforge/sched/scheduler.h"

namespace gpuforge::sched {
namespace {

Task task_of(int i) {
  Task task{.name = "task" + std::to_string(i), .qos = static_cast<Qos>(i % 3)};
  if (task.qos != Qos::best_effort) task.bandwidth.request = 0.9 / 1000;
  task.memory = {task.qos == Qos::best_effort ? 0u : 1u, task.qos == Qos::guaranteed ? 1u : 4u};
  return task;
}

SchedulerConfig config_of(int tasks) {
  SchedulerConfig config{.memory_bytes = 1 << 20};
  config.partitions = {{.name = "default", .memory_bytes = 1 << 20, .streams = tasks, .queue = 1'000'000}};
  return config;
}

// Turns among `tasks` tasks that always want the device.
void BM_turns(benchmark::State& state) {
  const int tasks = static_cast<int>(state.range(0));
  Scheduler scheduler(config_of(tasks));
  for (int i = 0; i < tasks; ++i) scheduler.submit(task_of(i), 0);
  double now_us = 0;
  const std::uint64_t before = scheduler.decision_count();
  for (auto _ : state) {
    const TaskId id = *scheduler.next(now_us);
    now_us += 10;
    scheduler.piece_done(id, now_us, 10, After::more);
  }
  state.counters["decisions/s"] = benchmark::Counter(static_cast<double>(scheduler.decision_count() - before),
                                                     benchmark::Counter::kIsRate);
}
BENCHMARK(BM_turns)->Arg(2)->Arg(16)->Arg(128)->Arg(1024);

// Whole lives, with `waiting` others in the queue: submit, wait for room, one turn, end, the next is
// promoted.
void BM_lives(benchmark::State& state) {
  const int waiting = static_cast<int>(state.range(0));
  Scheduler scheduler(config_of(4));
  double now_us = 0;
  int made = 0;
  for (; made < waiting + 4; ++made) scheduler.submit(task_of(made), now_us);
  const std::uint64_t before = scheduler.decision_count();
  for (auto _ : state) {
    const TaskId id = *scheduler.next(now_us);
    now_us += 10;
    scheduler.piece_done(id, now_us, 10, After::finished);
    scheduler.forget(id);
    scheduler.submit(task_of(made++), now_us);
  }
  state.counters["decisions/s"] = benchmark::Counter(static_cast<double>(scheduler.decision_count() - before),
                                                     benchmark::Counter::kIsRate);
}
BENCHMARK(BM_lives)->Arg(0)->Arg(100)->Arg(10'000);

}  // namespace
}  // namespace gpuforge::sched
