#include "gpuforge/sched/task_state.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace gpuforge::sched {
namespace {

std::vector<TaskState> states() {
  std::vector<TaskState> all;
  for (int i = 0; i < kTaskStateCount; ++i) all.push_back(static_cast<TaskState>(i));
  return all;
}

std::vector<TaskEvent> events() {
  std::vector<TaskEvent> all;
  for (int i = 0; i < kTaskEventCount; ++i) all.push_back(static_cast<TaskEvent>(i));
  return all;
}

std::set<TaskState> reachable_from(TaskState start) {
  std::set<TaskState> seen = {start};
  std::vector<TaskState> open = {start};
  while (!open.empty()) {
    const TaskState state = open.back();
    open.pop_back();
    for (const TaskEvent event : events()) {
      const auto next = next_state(state, event);
      if (next && seen.insert(*next).second) open.push_back(*next);
    }
  }
  return seen;
}

TEST(TaskStates, EveryStateIsReached) {
  EXPECT_EQ(reachable_from(TaskState::blocked).size(), states().size());
}

TEST(TaskStates, AnEndIsAnEnd) {
  for (const TaskState state : states()) {
    for (const TaskEvent event : events()) {
      if (is_end(state)) {
        EXPECT_EQ(next_state(state, event), std::nullopt) << name(state) << " " << name(event);
      }
    }
  }
}

TEST(TaskStates, EveryOtherStateCanCompleteOrIsOnItsWayToAnotherEnd) {
  for (const TaskState state : states()) {
    if (is_end(state)) continue;
    const auto reached = reachable_from(state);
    if (state == TaskState::cancelling || state == TaskState::expiring) {
      EXPECT_FALSE(reached.contains(TaskState::completed)) << name(state);
      EXPECT_FALSE(reached.contains(TaskState::ready)) << name(state);
      EXPECT_TRUE(reached.contains(TaskState::failed)) << name(state);
    } else {
      EXPECT_TRUE(reached.contains(TaskState::completed)) << name(state);
    }
  }
}

TEST(TaskStates, EveryoneCanBeCancelledExpiredAndFailed) {
  for (const TaskState state : states()) {
    if (is_end(state)) continue;
    for (const TaskEvent event : {TaskEvent::cancel, TaskEvent::expire, TaskEvent::fail})
      EXPECT_TRUE(next_state(state, event)) << name(state) << " " << name(event);
  }
}

TEST(TaskStates, APieceOnTheDeviceIsNeverLost) {
  for (const TaskState state : states()) {
    for (const TaskEvent event : events()) {
      const auto next = next_state(state, event);
      if (!next) continue;
      const bool piece_ends = event == TaskEvent::boundary || event == TaskEvent::rest ||
                              event == TaskEvent::finish || event == TaskEvent::fail;
      if (on_device(state) && !piece_ends) {
        EXPECT_TRUE(on_device(*next)) << name(state) << " " << name(event);
      }
      if (on_device(state) && piece_ends) {
        EXPECT_FALSE(on_device(*next)) << name(state) << " " << name(event);
      }
      if (!on_device(state)) {
        EXPECT_EQ(on_device(*next), event == TaskEvent::dispatch) << name(state);
      }
    }
  }
}

TEST(TaskStates, OnlyAdmissionAdmits) {
  for (const TaskState state : states()) {
    for (const TaskEvent event : events()) {
      const auto next = next_state(state, event);
      if (next && !is_admitted(state) && is_admitted(*next)) {
        EXPECT_EQ(event, TaskEvent::admit) << name(state);
      }
      if (next && event == TaskEvent::evict) {
        EXPECT_EQ(*next, TaskState::queued) << name(state);
      }
    }
  }
}

TEST(TaskStates, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (const TaskState state : states()) EXPECT_TRUE(names.insert(name(state)).second);
  names.clear();
  for (const TaskEvent event : events()) EXPECT_TRUE(names.insert(name(event)).second);
}

}  // namespace
}  // namespace gpuforge::sched
