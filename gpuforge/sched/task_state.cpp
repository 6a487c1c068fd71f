#include "gpuforge/sched/task_state.h"

#include <array>

namespace gpuforge::sched {
namespace {

using enum TaskState;
using enum TaskEvent;

constexpr std::array<std::string_view, kTaskStateCount> kStateNames = {
    "blocked",  "queued",    "idle",   "ready",     "running", "cancelling",
    "expiring", "completed", "failed", "cancelled", "rejected"};
constexpr std::array<std::string_view, kTaskEventCount> kEventNames = {
    "arrive", "admit", "reject", "evict", "dispatch", "boundary",
    "rest",   "wake",  "finish", "fail",  "cancel",   "expire"};

struct Row {
  TaskState from;
  TaskEvent event;
  TaskState to;
};

constexpr Row kTable[] = {
    {blocked, arrive, queued},
    {blocked, reject, rejected},
    {blocked, fail, failed},
    {blocked, cancel, cancelled},
    {blocked, expire, failed},

    {queued, admit, ready},
    {queued, reject, rejected},
    {queued, fail, failed},
    {queued, cancel, cancelled},
    {queued, expire, failed},

    {idle, wake, ready},
    {idle, evict, queued},
    {idle, finish, completed},
    {idle, fail, failed},
    {idle, cancel, cancelled},
    {idle, expire, failed},

    {ready, dispatch, running},
    {ready, evict, queued},
    {ready, fail, failed},
    {ready, cancel, cancelled},
    {ready, expire, failed},

    {running, boundary, ready},
    {running, rest, idle},
    {running, finish, completed},
    {running, fail, failed},
    {running, cancel, cancelling},
    {running, expire, expiring},

    // Asked to end: whatever the piece says when it is done.
    {cancelling, boundary, cancelled},
    {cancelling, rest, cancelled},
    {cancelling, finish, cancelled},
    {cancelling, fail, failed},
    {cancelling, cancel, cancelling},
    {cancelling, expire, cancelling},

    {expiring, boundary, failed},
    {expiring, rest, failed},
    {expiring, finish, failed},
    {expiring, fail, failed},
    {expiring, cancel, expiring},
    {expiring, expire, expiring},
};

constexpr std::uint8_t kNone = 255;

constexpr auto kNext = [] {
  std::array<std::array<std::uint8_t, kTaskEventCount>, kTaskStateCount> next{};
  for (auto& row : next) row.fill(kNone);
  for (const Row& row : kTable)
    next[static_cast<std::size_t>(row.from)][static_cast<std::size_t>(row.event)] =
        static_cast<std::uint8_t>(row.to);
  return next;
}();

}  // namespace

std::string_view name(TaskState state) {
  return kStateNames[static_cast<std::size_t>(state)];
}

std::string_view name(TaskEvent event) {
  return kEventNames[static_cast<std::size_t>(event)];
}

std::optional<TaskState> next_state(TaskState state, TaskEvent event) {
  const std::uint8_t next = kNext[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
  if (next == kNone) return std::nullopt;
  return static_cast<TaskState>(next);
}

bool is_end(TaskState state) {
  return state >= completed;
}

bool on_device(TaskState state) {
  return state == running || state == cancelling || state == expiring;
}

bool is_admitted(TaskState state) {
  return state == idle || state == ready || on_device(state);
}

}  // namespace gpuforge::sched
