// The life of a task: one table, explored whole by a test.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuforge::sched {

enum class TaskState : std::uint8_t {
  blocked,     // has not arrived, or waits for other tasks
  queued,      // waits for room
  idle,        // admitted, nothing to run
  ready,       // admitted, has something to run
  running,     // a piece of it is on the device
  cancelling,  // cancelled, but the piece on the device cannot be called back
  expiring,    // past its deadline, the same
  completed,
  failed,
  cancelled,
  rejected,
};
inline constexpr int kTaskStateCount = 11;

enum class TaskEvent : std::uint8_t {
  arrive,    // its time has come and what it waits for has completed
  admit,     // there is room
  reject,    // there never will be
  evict,     // its memory was taken back for a higher class
  dispatch,  // a piece of it goes to the device
  boundary,  // the piece is done, there is more
  rest,      // the piece is done, there is nothing more for now
  wake,      // there is more now
  finish,    // all is done
  fail,      // its piece failed, or one that it waits for did
  cancel,
  expire,  // its deadline has passed
};
inline constexpr int kTaskEventCount = 12;

std::string_view name(TaskState state);
std::string_view name(TaskEvent event);

// Nothing where the event cannot happen.
std::optional<TaskState> next_state(TaskState state, TaskEvent event);

bool is_end(TaskState state);
bool on_device(TaskState state);    // a piece of it is there
bool is_admitted(TaskState state);  // holds what was reserved for it

}  // namespace gpuforge::sched
