// What the scheduler decided, when, about whom, and why: the reason with the numbers it was made from. Small
// values, kept in the order they were made; the sentences are made when somebody reads them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "gpuforge/base/json.h"
#include "gpuforge/sched/task.h"

namespace gpuforge::sched {

enum class DecisionKind : std::uint8_t {
  admit,     // what it asked for is kept for it
  throttle,  // admitted with less than its limit
  queue,     // waits for room
  reject,
  grow,      // a throttled task is lent more
  reclaim,   // what was lent is taken back
  evict,     // all that was lent is taken back: it waits again
  dispatch,  // the device is its own for one piece
  preempt,   // it had more to run, and a higher class goes first
  hold,      // it is at its share limit
  complete,
  fail,
  cancel,
};
inline constexpr int kDecisionKindCount = 13;
std::string_view name(DecisionKind kind);

enum class Reason : std::uint8_t {
  fits,
  fits_in_part,
  memory_never,
  compute_never,
  bandwidth_never,
  queue_full,
  memory_full,
  nothing_to_lend,
  compute_full,
  bandwidth_full,
  streams_full,
  behind_a_patient_one,
  room_appeared,
  needed_by,
  within_share,
  device_free,
  higher_class,
  at_share_limit,
  done,
  body_failed,
  dependency_failed,
  deadline_passed,
  asked_to,
};
inline constexpr int kReasonCount = 23;
std::string_view name(Reason reason);
// What `inputs` of a decision with this reason are; empty names are unused.
std::span<const std::string_view, 3> input_names(Reason reason);

struct Decision {
  double time_us = 0;
  TaskId task;
  TaskId other;  // who was the cause, where somebody was
  std::array<double, 3> inputs{};
  std::uint32_t position = 0;  // in the queue, from 1
  DecisionKind kind{};
  Reason reason{};

  friend bool operator==(const Decision&, const Decision&) = default;
};

using TaskNames = std::function<std::string(TaskId)>;

// "needs 8.0 GiB; of 16.0 GiB, 4.0 GiB are not reserved".
std::string sentence(const Decision& decision, const TaskNames& names);
Json to_json(const Decision& decision, const TaskNames& names);

}  // namespace gpuforge::sched
