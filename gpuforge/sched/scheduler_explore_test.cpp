// Every sequence of calls, up to a length, on tasks that compete for two units of memory: whatever happens in
// whatever order, the books balance, and when all have ended nothing is held.
#include <gtest/gtest.h>

#include "gpuforge/base/error.h"
#include "gpuforge/sched/books_for_tests.h"

namespace gpuforge::sched {
namespace {

constexpr int kTasks = 3;

Task task_of(int which) {
  switch (which) {
    case 0:
      return {.name = "lent", .qos = Qos::best_effort, .memory = {0, 2}};
    case 1:
      return {.name = "burst", .qos = Qos::burstable, .memory = {1, 2}, .deadline_us = 25};
    default:
      return {.name = "kept", .qos = Qos::guaranteed, .memory = {2, 2}, .compute = {0.5, 1}, .after = {}};
  }
}

// Calls are numbers, so that a sequence is a word over them: submit, cancel, fail, wake, finish of each task,
// then next, and the three ways a piece ends.
constexpr int kCalls = kTasks * 5 + 4;

bool call(Scheduler& scheduler, int which, double now_us) {
  if (which < kTasks) {
    const Task task = task_of(which);
    if (scheduler.find(task.name)) return false;
    scheduler.submit(task, now_us);
    return true;
  }
  which -= kTasks;
  if (which < kTasks * 4) {
    const auto id = scheduler.find(task_of(which % kTasks).name);
    if (!id || is_end(scheduler.state(*id))) return false;
    switch (which / kTasks) {
      case 0:
        return scheduler.cancel(*id, now_us);
      case 1:
        scheduler.fail(*id, now_us, "failed");
        return true;
      case 2:
        if (scheduler.state(*id) != TaskState::idle) return false;
        scheduler.wake(*id, now_us);
        return true;
      default:
        if (scheduler.state(*id) != TaskState::idle) return false;
        scheduler.finish(*id, now_us);
        return true;
    }
  }
  which -= kTasks * 4;
  if (which == 0) return scheduler.next(now_us).has_value();
  for (const TaskId id : scheduler.tasks()) {
    if (!on_device(scheduler.state(id))) continue;
    scheduler.piece_done(id, now_us, 4, static_cast<After>(which - 1));
    return true;
  }
  return false;
}

struct Explored {
  int sequences = 0;
  int ended = 0;
};

// The scheduler is a value without copies, so that each sequence is played from its beginning.
void explore(std::vector<int>& calls, int depth, Explored& explored) {
  for (int which = 0; which < kCalls; ++which) {
    Scheduler scheduler({.memory_bytes = 2, .patience_us = 12});
    double now_us = 0;
    for (const int earlier : calls) call(scheduler, earlier, now_us += 5);
    if (!call(scheduler, which, now_us += 5)) continue;
    ++explored.sequences;
    ASSERT_NO_FATAL_FAILURE(expect_books_balance(scheduler));
    if (depth > 1) {
      calls.push_back(which);
      ASSERT_NO_FATAL_FAILURE(explore(calls, depth - 1, explored));
      calls.pop_back();
      continue;
    }
    // The end of all: a fixed way home from wherever it stands.
    for (const TaskId id : scheduler.tasks()) scheduler.cancel(id, now_us);
    for (const TaskId id : scheduler.tasks()) {
      if (on_device(scheduler.state(id))) scheduler.piece_done(id, now_us += 5, 1, After::more);
    }
    ASSERT_NO_FATAL_FAILURE(expect_nothing_held(scheduler));
    ++explored.ended;
  }
}

TEST(SchedulerExplored, EverySequenceOfCallsKeepsTheBooks) {
  std::vector<int> calls;
  Explored explored;
  explore(calls, 7, explored);
  EXPECT_GT(explored.sequences, 20'000);
  EXPECT_GT(explored.ended, 20'000);
}

}  // namespace
}  // namespace gpuforge::sched
