#include "gpuforge/sched/dispatch_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace gpuforge::sched {
namespace {

using State = DispatchState;
using testing::HasSubstr;

DispatchQueue::Request request(std::string task, int priority = 0, std::size_t lane = 0) {
  return {std::move(task), "axpy", {.grid = {4}, .block = {256}}, lane, priority};
}

TEST(DispatchQueue, HigherPriorityFirstThenFirstCome) {
  DispatchQueue queue("cpu", 1, 1);
  const DispatchId first = queue.add(request("a"), 0);
  const DispatchId second = queue.add(request("a"), 1);
  const DispatchId urgent = queue.add(request("b", 5), 2);
  EXPECT_EQ(queue.reason(first), "1 launches of higher rank on stream 0 go first");
  EXPECT_EQ(queue.start(0, 10), urgent);
  EXPECT_EQ(queue.start(0, 10), std::nullopt);
  EXPECT_EQ(queue.reason(first), "1 launches are in flight on stream 0, of 1 at most");
  queue.complete(urgent, 11, 2.5, 14);
  EXPECT_EQ(queue.start(0, 15), first);
  queue.complete(first, 15, 1, 16);
  EXPECT_EQ(queue.start(0, 17), second);
  const TaskAccounts& accounts = queue.accounts();
  EXPECT_DOUBLE_EQ(accounts.at("b").gpu_us, 2.5);
  EXPECT_DOUBLE_EQ(accounts.at("b").wait_us, 8);
  EXPECT_DOUBLE_EQ(accounts.at("a").wait_us, 15 + 16);
  EXPECT_EQ(accounts.at("a").launched, 1u);
  EXPECT_EQ(queue.status(urgent).state, State::completed);
  EXPECT_THAT(to_text(accounts), HasSubstr("a                          0        1         1"));
  EXPECT_EQ(to_json(accounts).as_array()[1].at("gpu_us").as_double(), 2.5);
}

TEST(DispatchQueue, LanesHaveTheirOwnLimits) {
  DispatchQueue queue("cpu", 2, 2);
  for (int i = 0; i < 3; ++i) queue.add(request("a", 0, 0), 0);
  const DispatchId other = queue.add(request("a", 0, 1), 0);
  EXPECT_TRUE(queue.start(0, 0) && queue.start(0, 0));
  EXPECT_FALSE(queue.start(0, 0));
  EXPECT_EQ(queue.start(1, 0), other);
  EXPECT_EQ(queue.in_flight(0), (std::vector<DispatchId>{1, 2}));
}

TEST(DispatchQueue, CancelOnlyWhileQueued) {
  DispatchQueue queue("cpu", 1, 1);
  const DispatchId launched = queue.add(request("a"), 0);
  const DispatchId queued = queue.add(request("a"), 0);
  queue.start(0, 0);
  EXPECT_FALSE(queue.cancel(launched, 1));
  EXPECT_TRUE(queue.cancel(queued, 1));
  EXPECT_FALSE(queue.cancel(queued, 1));
  EXPECT_EQ(queue.accounts().at("a").cancelled, 1u);
  EXPECT_THROW(queue.forget(launched), Error);
  queue.forget(queued);
  EXPECT_THROW(static_cast<void>(queue.status(queued)), Error);
}

TEST(DispatchQueue, OneFailureNamesKernelAndLaunchAndHarmsNoOther) {
  DispatchQueue queue("sim", 1, 2);
  const DispatchId bad = queue.add(request("a"), 0);
  const DispatchId good = queue.add(request("b"), 0);
  queue.start(0, 0);
  queue.start(0, 0);
  const FaultReport report = queue.fail(bad, Error(ErrorCode::invalid_argument, "it reads beyond", "all"), 3);
  EXPECT_EQ(queue.status(bad).failure->message(),
            "dispatch: launch 1: kernel axpy with grid (4, 1, 1), block (256, 1, 1) of task 'a' on stream 0 "
            "failed on sim: it reads beyond");
  EXPECT_EQ(queue.status(bad).failure->detail(), "all");
  EXPECT_EQ(queue.status(good).state, State::launched);
  EXPECT_THAT(to_text(report), HasSubstr("Nothing else was lost"));
  EXPECT_FALSE(report.context_lost);
}

TEST(DispatchQueue, ALostContextTakesAllWithItAndSaysSo) {
  DispatchQueue queue("cuda:0", 2, 2);
  for (int i = 0; i < 4; ++i) queue.add(request("a"), 0);
  queue.start(0, 0);
  queue.start(0, 0);
  const FaultReport report = queue.lose(Error(ErrorCode::cuda, "ILLEGAL_ADDRESS"), 5);
  ASSERT_EQ(report.suspects.size(), 1u);
  EXPECT_EQ(report.suspects[0].id, 1u);
  EXPECT_EQ(report.lost_in_flight.size(), 1u);
  EXPECT_EQ(report.never_launched.size(), 2u);
  for (const DispatchId id : queue.ids()) EXPECT_EQ(queue.status(id).state, State::failed);
  EXPECT_THAT(queue.status(1).failure->message(),
              HasSubstr("failed on cuda:0, and took the context with it"));
  EXPECT_THAT(queue.status(2).failure->message(), HasSubstr("lost in flight"));
  EXPECT_THAT(queue.status(4).failure->message(), HasSubstr("never launched"));
  EXPECT_THAT(queue.status(4).failure->message(), HasSubstr("launch 1: kernel axpy"));
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("launch 1: kernel axpy with grid (4, 1, 1), block (256, 1, 1) of task 'a'"));
  EXPECT_THAT(text, HasSubstr("1 launches behind it in flight: launch 2"));
  EXPECT_THAT(text, HasSubstr("2 requests that were never launched: launch 3"));
  try {
    queue.add(request("b"), 6);
    FAIL() << "a lost device took a launch";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::cuda);
    EXPECT_THAT(error.message(), HasSubstr("lost to an earlier fault: launch 1"));
  }
}

TEST(DispatchQueue, WithTwoLanesBusyItSaysThatItCannotTell) {
  DispatchQueue queue("cuda:0", 2, 1);
  queue.add(request("a", 0, 0), 0);
  queue.add(request("b", 0, 1), 0);
  queue.start(0, 0);
  queue.start(1, 0);
  const FaultReport report = queue.lose(Error(ErrorCode::cuda, "x"), 5);
  EXPECT_EQ(report.suspects.size(), 2u);
  EXPECT_THAT(to_text(report), HasSubstr("it cannot be told which"));
  EXPECT_THAT(queue.status(2).failure->message(), HasSubstr("is one of those that may have faulted"));
}

TEST(DispatchQueue, RefusesNonsense) {
  EXPECT_THROW(DispatchQueue("cpu", 0, 1), Error);
  EXPECT_THROW(DispatchQueue("cpu", 1, 0), Error);
  DispatchQueue queue("cpu", 1, 1);
  EXPECT_THROW(queue.add(request("a", 0, 1), 0), Error);
}

class RandomDispatch : public testing::TestWithParam<int> {};

// The rules again, as plainly as possible.
TEST_P(RandomDispatch, FollowsTheModel) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const auto upto = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  const std::size_t lanes = 1 + upto(3), limit = 1 + upto(3);
  DispatchQueue queue("cpu", lanes, limit);
  struct Item {
    DispatchId id;
    std::size_t lane;
    int priority;
    std::string task;
    State state = State::queued;
  };
  std::vector<Item> items;
  for (int step = 0; step < 300; ++step) {
    const std::size_t lane = upto(lanes);
    switch (upto(5)) {
      case 0:
      case 1: {
        Item made{0, lane, static_cast<int>(upto(3)), upto(2) == 0 ? "a" : "b"};
        made.id = queue.add(request(made.task, made.priority, lane), step);
        items.push_back(made);
        break;
      }
      case 2: {
        Item* best = nullptr;
        std::size_t flying = 0;
        for (Item& item : items) {
          if (item.lane != lane) continue;
          flying += item.state == State::launched ? 1 : 0;
          if (item.state == State::queued && (best == nullptr || item.priority > best->priority))
            best = &item;
        }
        const auto started = queue.start(lane, step);
        ASSERT_EQ(started.has_value(), best != nullptr && flying < limit);
        if (!started) break;
        ASSERT_EQ(*started, best->id);
        best->state = State::launched;
        break;
      }
      default: {
        if (items.empty()) break;
        Item& item = items[upto(items.size())];
        if (item.state == State::launched && upto(4) > 0) {
          queue.complete(item.id, step, 1, step);
          item.state = State::completed;
        } else if (item.state == State::launched) {
          queue.fail(item.id, Error(ErrorCode::cuda, "x"), step);
          item.state = State::failed;
        } else {
          const bool cancelled = queue.cancel(item.id, step);
          ASSERT_EQ(cancelled, item.state == State::queued);
          if (cancelled) item.state = State::cancelled;
        }
      }
    }
    for (const std::string task : {"a", "b"}) {
      const auto count = [&](State state) {
        return static_cast<std::uint64_t>(std::ranges::count_if(
            items, [&](const Item& item) { return item.task == task && item.state == state; }));
      };
      const auto found = queue.accounts().find(task);
      if (found == queue.accounts().end()) continue;
      ASSERT_EQ(found->second.queued, count(State::queued));
      ASSERT_EQ(found->second.launched, count(State::launched));
      ASSERT_EQ(found->second.completed, count(State::completed));
      ASSERT_EQ(found->second.failed, count(State::failed));
      ASSERT_EQ(found->second.cancelled, count(State::cancelled));
      ASSERT_DOUBLE_EQ(found->second.gpu_us, static_cast<double>(count(State::completed)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomDispatch, testing::Range(0, 200));

}  // namespace
}  // namespace gpuforge::sched
