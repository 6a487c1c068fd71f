#include "gpuforge/sched/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gpuforge/base/error.h"
#include "gpuforge/sched/books_for_tests.h"

namespace gpuforge::sched {
namespace {

using testing::HasSubstr;

Task guaranteed(std::string name, std::uint64_t bytes, double share = 0) {
  return {.name = std::move(name), .qos = Qos::guaranteed, .memory = {bytes, bytes}, .bandwidth = {share, 1}};
}
Task burstable(std::string name, std::uint64_t request, std::uint64_t limit, double share = 0) {
  return {
      .name = std::move(name), .qos = Qos::burstable, .memory = {request, limit}, .bandwidth = {share, 1}};
}
Task best_effort(std::string name, std::uint64_t limit = 0) {
  return {.name = std::move(name), .memory = {0, limit}};
}

const Decision& last(const Scheduler& scheduler, DecisionKind kind) {
  const auto all = scheduler.decisions();
  for (auto i = all.size(); i > 0; --i) {
    if (all[i - 1].kind == kind) return all[i - 1];
  }
  static const Decision none;
  ADD_FAILURE() << "no decision " << name(kind);
  return none;
}

std::string told(const Scheduler& scheduler, const Decision& decision) {
  return sentence(decision, [&](TaskId id) { return scheduler.task_name(id); });
}

std::string problem(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  }
  return "none";
}

// Runs everybody that is ready, in pieces of `piece_us`, until `end_us`.
void run(Scheduler& scheduler, double& now_us, double end_us, double piece_us) {
  while (now_us < end_us) {
    const auto id = scheduler.next(now_us);
    if (!id) {
      const double timer_us = scheduler.next_timer_us();
      if (timer_us > end_us) return;
      scheduler.advance(now_us = std::max(now_us, timer_us));
      continue;
    }
    now_us += piece_us;
    scheduler.piece_done(*id, now_us, piece_us, After::more);
  }
}

TEST(Scheduler, WhatFitsIsAdmittedAndKept) {
  Scheduler scheduler({.memory_bytes = 100});
  const TaskId id = scheduler.submit(guaranteed("a", 60, 0.3), 0);
  EXPECT_EQ(scheduler.state(id), TaskState::ready);
  EXPECT_EQ(scheduler.partitions()[0].reserved_bytes, 60u);
  EXPECT_EQ(scheduler.partitions()[0].bandwidth_reserved, 0.3);
  EXPECT_EQ(told(scheduler, last(scheduler, DecisionKind::admit)),
            "60 B are kept for it, 60 B it may use; share 0.3");
}

TEST(Scheduler, WhatNeverFitsIsRejectedWithNumbers) {
  Scheduler scheduler({.memory_bytes = 100});
  const TaskId big = scheduler.submit(guaranteed("big", 101), 0);
  EXPECT_EQ(scheduler.state(big), TaskState::rejected);
  EXPECT_EQ(scheduler.status(big).message, "asks for 101 B; its partition has 100 B, so it could never run");
  Scheduler small({.memory_bytes = 100, .partitions = {{.name = "p", .compute = 0.2, .bandwidth = 0.2}}});
  Task greedy = guaranteed("greedy", 0, 0.5);
  greedy.partition = "p";
  EXPECT_EQ(small.state(small.submit(greedy, 0)), TaskState::rejected);
  expect_nothing_held(small);
}

TEST(Scheduler, WhoWaitsIsToldWhyAndWhere) {
  Scheduler scheduler({.memory_bytes = 100});
  scheduler.submit(guaranteed("a", 60), 0);
  const TaskId b = scheduler.submit(guaranteed("b", 50), 0);
  scheduler.submit(guaranteed("c", 45), 0);
  EXPECT_EQ(scheduler.state(b), TaskState::queued);
  const Decision& decision = last(scheduler, DecisionKind::queue);
  EXPECT_EQ(told(scheduler, decision), "needs 45 B; of 100 B, 40 B are not reserved; place 2 in the queue");
}

TEST(Scheduler, SharesAndStreamsAreAdmittedToo) {
  Scheduler scheduler(
      {.memory_bytes = 100, .partitions = {{.name = "default", .memory_bytes = 100, .streams = 2}}});
  scheduler.submit(guaranteed("a", 1, 0.7), 0);
  const TaskId b = scheduler.submit(guaranteed("b", 1, 0.4), 0);
  EXPECT_EQ(scheduler.state(b), TaskState::queued);
  EXPECT_EQ(last(scheduler, DecisionKind::queue).reason, Reason::bandwidth_full);
  scheduler.submit(best_effort("c"), 0);
  scheduler.submit(best_effort("d"), 0);
  EXPECT_EQ(last(scheduler, DecisionKind::queue).reason, Reason::streams_full);
}

TEST(Scheduler, QueuedOnesArePromotedOnEveryKindOfEnd) {
  for (int way = 0; way < 4; ++way) {
    Scheduler scheduler({.memory_bytes = 100});
    Task first = guaranteed("a", 60);
    if (way == 3) first.deadline_us = 5;
    const TaskId a = scheduler.submit(first, 0);
    const TaskId b = scheduler.submit(guaranteed("b", 60), 0);
    EXPECT_EQ(scheduler.state(b), TaskState::queued);
    ASSERT_EQ(scheduler.next(1), a);
    if (way == 0) scheduler.piece_done(a, 9, 8, After::finished);
    if (way == 1) scheduler.fail(a, 9, "broke");
    if (way == 2) scheduler.cancel(a, 2);
    if (way == 3) scheduler.advance(8);
    if (way >= 2) {
      EXPECT_EQ(scheduler.state(b), TaskState::queued);  // its piece is still there
      scheduler.piece_done(a, 9, 8, After::more);
    }
    EXPECT_EQ(scheduler.state(b), TaskState::ready) << way;
    EXPECT_EQ(scheduler.status(b).waited_us, 9) << way;
    scheduler.cancel(b, 10);
    expect_nothing_held(scheduler);
  }
}

TEST(Scheduler, ABurstableTaskIsLentWhatIsFreeAndMoreLater) {
  Scheduler scheduler({.memory_bytes = 100});
  const TaskId a = scheduler.submit(guaranteed("a", 60), 0);
  const TaskId b = scheduler.submit(burstable("b", 10, 80), 0);
  EXPECT_EQ(scheduler.status(b).granted_bytes, 40u);
  EXPECT_EQ(told(scheduler, last(scheduler, DecisionKind::throttle)),
            "may use 40 B of its limit of 80 B for now; 10 B are kept for it");
  scheduler.cancel(a, 1);
  EXPECT_EQ(scheduler.status(b).granted_bytes, 80u);
  EXPECT_EQ(last(scheduler, DecisionKind::grow).inputs[1], 40);
}

TEST(Scheduler, LoansAreCalledBackForWhatIsKept) {
  Scheduler scheduler({.memory_bytes = 100});
  const TaskId lent = scheduler.submit(best_effort("lent", 30), 0);
  const TaskId burst = scheduler.submit(burstable("burst", 10, 70), 0);
  EXPECT_EQ(scheduler.status(burst).granted_bytes, 70u);
  const TaskId kept = scheduler.submit(guaranteed("kept", 50), 1);
  EXPECT_EQ(scheduler.state(kept), TaskState::ready);
  EXPECT_EQ(scheduler.state(lent), TaskState::queued);  // the lowest class gives all, and waits again
  EXPECT_EQ(scheduler.status(lent).evictions, 1u);
  EXPECT_EQ(scheduler.status(burst).granted_bytes, 50u);
  EXPECT_EQ(told(scheduler, last(scheduler, DecisionKind::reclaim)),
            "20 B go back, 50 B are left: kept has 50 B kept for it");
  expect_books_balance(scheduler);
  scheduler.cancel(kept, 2);
  EXPECT_EQ(scheduler.state(lent), TaskState::ready);
}

TEST(Scheduler, AnEvictedTaskGoesAtItsKernelBoundary) {
  Scheduler scheduler({.memory_bytes = 100});
  const TaskId lent = scheduler.submit(best_effort("lent", 100), 0);
  ASSERT_EQ(scheduler.next(0), lent);
  scheduler.submit(guaranteed("kept", 100), 1);
  EXPECT_EQ(scheduler.state(lent), TaskState::running);
  scheduler.piece_done(lent, 5, 5, After::more);
  EXPECT_EQ(scheduler.state(lent), TaskState::queued);
}

TEST(Scheduler, AStreamThatAnEvictedTaskLeavesIsUsedAtOnce) {
  Scheduler scheduler(
      {.memory_bytes = 100, .partitions = {{.name = "default", .memory_bytes = 100, .streams = 2}}});
  const TaskId lent = scheduler.submit(best_effort("lent", 100), 0);
  ASSERT_EQ(scheduler.next(0), lent);
  scheduler.submit(guaranteed("kept", 100), 1);
  const TaskId third = scheduler.submit(best_effort("third"), 2);
  EXPECT_EQ(scheduler.state(third), TaskState::queued);
  scheduler.piece_done(lent, 5, 5, After::more);
  EXPECT_EQ(scheduler.state(third), TaskState::ready);
}

TEST(Scheduler, WhoHasWaitedItsPatienceOutIsNotOvertaken) {
  Scheduler scheduler({.memory_bytes = 100, .patience_us = 1000});
  const TaskId a = scheduler.submit(guaranteed("a", 60), 0);
  const TaskId big = scheduler.submit(burstable("big", 80, 80), 0);
  EXPECT_EQ(scheduler.state(scheduler.submit(guaranteed("early", 10), 10)), TaskState::ready);
  const TaskId late = scheduler.submit(best_effort("late", 10), 2000);
  EXPECT_EQ(scheduler.state(late), TaskState::queued);
  EXPECT_THAT(told(scheduler, last(scheduler, DecisionKind::queue)), HasSubstr("big has waited 2.00 ms"));
  scheduler.cancel(a, 2001);
  EXPECT_EQ(scheduler.state(big), TaskState::ready);
}

TEST(Scheduler, WaitingRaisesPriority) {
  Scheduler scheduler({.memory_bytes = 100, .ageing_us = 10, .patience_us = 1e9});
  const TaskId a = scheduler.submit(guaranteed("a", 100), 0);
  const TaskId old = scheduler.submit(burstable("old", 100, 100), 0);
  const TaskId soon = scheduler.submit(guaranteed("soon", 100), 400);  // 40 points of waiting are not enough
  const TaskId late = scheduler.submit(guaranteed("late", 100), 600);  // 60 are
  scheduler.cancel(a, 1200);
  EXPECT_EQ(scheduler.state(soon), TaskState::ready);
  scheduler.cancel(soon, 1300);
  EXPECT_EQ(scheduler.state(old), TaskState::ready);
  scheduler.cancel(old, 1400);
  EXPECT_EQ(scheduler.state(late), TaskState::ready);
}

TEST(Scheduler, AnAgedTaskIsNotEvictedByNewcomers) {
  Scheduler scheduler({.memory_bytes = 100, .patience_us = 100});
  const TaskId a = scheduler.submit(guaranteed("a", 100), 0);
  const TaskId old = scheduler.submit(best_effort("old", 60), 0);
  scheduler.cancel(a, 500);
  EXPECT_EQ(scheduler.status(old).reserved_bytes, 60u);
  EXPECT_EQ(scheduler.state(scheduler.submit(guaranteed("new", 100), 501)), TaskState::queued);
  EXPECT_EQ(scheduler.state(old), TaskState::ready);
}

TEST(Scheduler, AFullQueueRejects) {
  Scheduler scheduler(
      {.memory_bytes = 100, .partitions = {{.name = "default", .memory_bytes = 100, .queue = 1}}});
  scheduler.submit(guaranteed("a", 100), 0);
  EXPECT_EQ(scheduler.state(scheduler.submit(guaranteed("b", 100), 0)), TaskState::queued);
  const TaskId c = scheduler.submit(guaranteed("c", 100), 0);
  EXPECT_EQ(scheduler.state(c), TaskState::rejected);
  EXPECT_EQ(scheduler.status(c).message, "the queue of its partition has 1 places, and 1 are taken");
}

TEST(Scheduler, DependenciesAreWaitedForAndTheirFailurePassedOn) {
  Scheduler scheduler({.memory_bytes = 100});
  std::vector<Task> tasks = {best_effort("c"), best_effort("b"), best_effort("a"), best_effort("d")};
  tasks[0].after = {"b"};
  tasks[1].after = {"a"};
  tasks[3].after = {"a"};
  const auto ids = scheduler.submit_all(tasks, 0);
  EXPECT_EQ(scheduler.state(ids[0]), TaskState::blocked);
  ASSERT_EQ(scheduler.next(0), ids[2]);
  scheduler.piece_done(ids[2], 1, 1, After::finished);
  EXPECT_EQ(scheduler.state(ids[1]), TaskState::ready);
  EXPECT_EQ(scheduler.state(ids[0]), TaskState::blocked);
  scheduler.fail(ids[1], 2, "broke");
  EXPECT_EQ(scheduler.state(ids[0]), TaskState::failed);
  EXPECT_EQ(scheduler.status(ids[0]).message, "b did not complete");
  EXPECT_EQ(scheduler.state(ids[3]), TaskState::ready);  // the rest goes on
  Task late = best_effort("late");
  late.after = {"b"};
  EXPECT_EQ(scheduler.state(scheduler.submit(late, 3)), TaskState::failed);
}

TEST(Scheduler, ALongChainOfFailuresEnds) {
  Scheduler scheduler({.memory_bytes = 100});
  std::vector<Task> tasks;
  for (int i = 0; i < 50'000; ++i) {
    tasks.push_back(best_effort("t" + std::to_string(i)));
    if (i > 0) tasks.back().after = {"t" + std::to_string(i - 1)};
  }
  const auto ids = scheduler.submit_all(tasks, 0);
  scheduler.fail(ids[0], 1, "broke");
  EXPECT_EQ(scheduler.state(ids.back()), TaskState::failed);
  expect_nothing_held(scheduler);
}

TEST(Scheduler, CirclesUnknownNamesAndDuplicatesAreErrorsAndNothingIsSubmitted) {
  Scheduler scheduler({.memory_bytes = 100});
  std::vector<Task> tasks = {best_effort("first"), best_effort("a"), best_effort("b"), best_effort("c")};
  tasks[1].after = {"c", "first"};
  tasks[2].after = {"a"};
  tasks[3].after = {"b"};
  EXPECT_EQ(problem([&] { scheduler.submit_all(tasks, 0); }),
            "sched: tasks wait for each other in a circle: a -> c -> b -> a");
  tasks[1].after = {"frist"};
  EXPECT_THAT(problem([&] { scheduler.submit_all(tasks, 0); }),
              HasSubstr("waits for 'frist', which is no task"));
  EXPECT_THAT(problem([&] {
                scheduler.submit_all(std::vector<Task>{best_effort("a"), best_effort("a")}, 0);
              }),
              HasSubstr("two tasks called a"));
  Task elsewhere = best_effort("x");
  elsewhere.partition = "defalt";
  EXPECT_THAT(problem([&] { scheduler.submit(elsewhere, 0); }), HasSubstr("no partition 'defalt'"));
  EXPECT_TRUE(scheduler.tasks().empty());
  EXPECT_TRUE(scheduler.all_ended());
}

TEST(Scheduler, ADeadlineEndsATaskWhereverItIs) {
  Scheduler scheduler({.memory_bytes = 100});
  Task running = guaranteed("running", 60);
  running.deadline_us = 100;
  Task queued = guaranteed("queued", 60);
  queued.deadline_us = 50;
  Task just = best_effort("just");
  just.deadline_us = 120;
  const TaskId a = scheduler.submit(running, 0);
  const TaskId b = scheduler.submit(queued, 0);
  EXPECT_EQ(scheduler.next_timer_us(), 50);
  ASSERT_EQ(scheduler.next(0), a);
  const TaskId c = scheduler.submit(just, 10);
  scheduler.advance(60);
  EXPECT_EQ(scheduler.state(b), TaskState::failed);
  EXPECT_EQ(scheduler.status(b).ended_us, 50);
  scheduler.advance(105);
  EXPECT_EQ(scheduler.state(a), TaskState::expiring);
  scheduler.piece_done(a, 110, 110, After::finished);
  EXPECT_EQ(scheduler.state(a), TaskState::failed);
  ASSERT_EQ(scheduler.next(110), c);
  scheduler.piece_done(c, 130, 20, After::finished);  // at its deadline is in time
  EXPECT_EQ(scheduler.state(c), TaskState::completed);
  expect_nothing_held(scheduler);
}

TEST(Scheduler, AShareIsKeptWhenOthersWantTheRestAndAllIsGivenWhenTheyDoNot) {
  for (const double hog_piece_us : {100.0, 1000.0}) {
    Scheduler scheduler({.memory_bytes = 100});
    const TaskId a = scheduler.submit(burstable("a", 1, 1, 0.3), 0);
    scheduler.submit(best_effort("hog"), 0);
    double now_us = 0;
    while (now_us < 1e6) {
      const TaskId id = *scheduler.next(now_us);
      const double us = id == a ? 150 : hog_piece_us;
      now_us += us;
      scheduler.piece_done(id, now_us, us, After::more);
    }
    EXPECT_NEAR(scheduler.status(a).share(), 0.3, 0.03) << hog_piece_us;
    scheduler.cancel(*scheduler.find("hog"), now_us);
    const double before = scheduler.status(a).used_us;
    run(scheduler, now_us, 2e6, 150);
    EXPECT_NEAR(scheduler.status(a).used_us - before, 1e6, 2000);
  }
}

TEST(Scheduler, ALimitHoldsATaskThoughTheDeviceIsFree) {
  Scheduler scheduler({.memory_bytes = 100});
  Task limited = best_effort("limited");
  limited.bandwidth.limit = 0.25;
  const TaskId id = scheduler.submit(limited, 0);
  double now_us = 0;
  run(scheduler, now_us, 1e6, 500);
  EXPECT_NEAR(scheduler.status(id).used_us / 1e6, 0.25, 0.01);
  EXPECT_GT(scheduler.status(id).holds, 100u);
  EXPECT_EQ(last(scheduler, DecisionKind::hold).reason, Reason::at_share_limit);
}

TEST(Scheduler, AGuaranteedTaskThatWakesGoesFirstAtTheNextBoundary) {
  Scheduler scheduler({.memory_bytes = 100});
  const TaskId hog = scheduler.submit(best_effort("hog"), 0);
  const TaskId a = scheduler.submit(guaranteed("a", 10, 0.3), 0);
  ASSERT_EQ(scheduler.next(0), a);
  scheduler.piece_done(a, 100, 100, After::rest);
  EXPECT_EQ(scheduler.state(a), TaskState::idle);
  ASSERT_EQ(scheduler.next(100), hog);
  scheduler.wake(a, 500);
  EXPECT_FALSE(scheduler.next(500));  // one slot, and a kernel is not interrupted
  scheduler.piece_done(hog, 1100, 1000, After::more);
  EXPECT_EQ(scheduler.next(1100), a);
  EXPECT_EQ(scheduler.status(hog).preemptions, 1u);
  EXPECT_EQ(told(scheduler, last(scheduler, DecisionKind::preempt)), "a goes first: priority 100 over 0");
  // A burst is served whole while it is within what was not used before.
  for (double now_us = 1200; now_us < 5000; now_us += 100) {
    scheduler.piece_done(a, now_us, 100, After::more);
    ASSERT_EQ(scheduler.next(now_us), a) << now_us;
  }
}

TEST(Scheduler, PartitionsKeepTheirSharesApart) {
  Scheduler scheduler(
      {.memory_bytes = 100,
       .partitions = {{.name = "online", .memory_bytes = 50, .compute = 0.6, .bandwidth = 0.6},
                      {.name = "batch", .memory_bytes = 50, .compute = 0.4, .bandwidth = 0.4}}});
  Task serve = guaranteed("serve", 10, 0.4);
  serve.partition = "online";
  std::vector<TaskId> ids = {scheduler.submit(serve, 0)};
  for (const auto& [name, partition] :
       {std::pair("spare", "online"), std::pair("b1", "batch"), std::pair("b2", "batch")}) {
    Task task = best_effort(name);
    task.partition = partition;
    ids.push_back(scheduler.submit(task, 0));
  }
  double now_us = 0;
  run(scheduler, now_us, 1e6, 100);
  const double expected[] = {0.4, 0.2, 0.2, 0.2};
  for (std::size_t i = 0; i < ids.size(); ++i)
    EXPECT_NEAR(scheduler.status(ids[i]).used_us / now_us, expected[i], 0.02) << i;
}

TEST(Scheduler, TwoSlotsRunTwoTasks) {
  Scheduler scheduler({.memory_bytes = 100, .slots = 2});
  scheduler.submit(best_effort("a"), 0);
  scheduler.submit(best_effort("b"), 0);
  scheduler.submit(best_effort("c"), 0);
  const auto first = scheduler.next(0);
  const auto second = scheduler.next(0);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  EXPECT_FALSE(scheduler.next(0));
}

TEST(Scheduler, ForgottenTasksLeaveTheirPlace) {
  Scheduler scheduler({.memory_bytes = 100, .decisions_kept = 100});
  for (int i = 0; i < 10'000; ++i) {
    const TaskId id = scheduler.submit(best_effort("same", 10), i);
    ASSERT_EQ(scheduler.next(i), id);
    scheduler.piece_done(id, i + 1, 1, After::finished);
    scheduler.forget(id);
    EXPECT_THAT(problem([&] { scheduler.state(id); }), HasSubstr("no such task"));
  }
  EXPECT_LE(scheduler.decisions().size(), 100u);
  EXPECT_EQ(scheduler.decision_count(), 30'000u);
  expect_nothing_held(scheduler);
}

TEST(Scheduler, MisuseIsAnErrorThatChangesNothing) {
  Scheduler scheduler({.memory_bytes = 100});
  const TaskId id = scheduler.submit(best_effort("a"), 0);
  EXPECT_THAT(problem([&] { scheduler.piece_done(id, 1, 1, After::more); }),
              HasSubstr("none was on the device"));
  EXPECT_THAT(problem([&] { scheduler.finish(id, 1); }), HasSubstr("only an idle one"));
  EXPECT_THAT(problem([&] { scheduler.forget(id); }), HasSubstr("only one that has ended"));
  ASSERT_EQ(scheduler.next(1), id);
  EXPECT_THAT(problem([&] { scheduler.piece_done(id, 1, -1, After::more); }), HasSubstr("found -1 us"));
  EXPECT_EQ(scheduler.state(id), TaskState::running);
  EXPECT_THAT(problem([&] { scheduler.advance(NAN); }), HasSubstr("not a number"));
  EXPECT_THAT(problem([] { Scheduler({.slots = 0}); }), HasSubstr("at least 1 slot"));
  EXPECT_THAT(problem([] { Scheduler({.ageing_us = -1}); }), HasSubstr("ageing is a time"));
}

}  // namespace
}  // namespace gpuforge::sched
