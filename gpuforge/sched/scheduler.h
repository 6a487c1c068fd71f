// Room sched: who may run when. Tasks ask for memory and shares of a device; the Scheduler admits them or
// says why they wait, and gives the device away piece by piece, by class and by measured time.
//   task, task_state, partition, decision   the values
//   lane                                    whose turn it is (fair queueing by virtual time)
//   scheduler                               all decisions; no clock, no thread, no device: time is a number
//   workload, simulate                      workload files, and running them on a virtual clock
// Not here: bytes (memory/), what a piece does (whoever submits it).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpuforge/sched/decision.h"
#include "gpuforge/sched/partition.h"
#include "gpuforge/sched/task.h"
#include "gpuforge/sched/task_state.h"

namespace gpuforge::sched {

struct SchedulerConfig {
  std::uint64_t memory_bytes = 0;
  std::vector<Partition> partitions;  // see complete_partitions
  int slots = 1;                      // pieces on the device at a time
  double ageing_us = 10'000;          // waiting this long for room is worth one point of priority
  double patience_us = 1'000'000;     // nobody overtakes one that has waited this long for room
  double burst_us = 20'000;           // unused turns are kept for this long (not for best_effort)
  int backfill = 64;                  // how far down the queue one that fits is looked for
  std::size_t decisions_kept = std::size_t{1} << 20;
};

// What a piece says when it is done.
enum class After : std::uint8_t { more, rest, finished };

struct TaskStatus {
  Task task;
  TaskState state = TaskState::blocked;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t granted_bytes = 0;  // what it may use: its reservation and what is lent
  std::optional<double> arrived_us;
  std::optional<double> admitted_us;
  std::optional<double> started_us;
  std::optional<double> ended_us;
  double waited_us = 0;   // for room, in all
  double used_us = 0;     // device time
  double wanted_us = 0;   // device time used by everybody while it wanted the device
  double virtual_us = 0;  // its time in the lane of its partition
  bool held = false;      // at its share limit
  std::uint64_t pieces = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t holds = 0;
  std::uint64_t evictions = 0;
  std::string message;  // why it ended, where it did not complete

  // Of the device's time while it wanted the device.
  double share() const { return wanted_us > 0 ? used_us / wanted_us : 0; }
};

struct PartitionStatus {
  Partition partition;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t granted_bytes = 0;
  double compute_reserved = 0;
  double bandwidth_reserved = 0;
  int admitted = 0;
  int queued = 0;
  double used_us = 0;
  double clock_us = 0;  // who is not past it is within its share
};

class Scheduler {
 public:
  explicit Scheduler(SchedulerConfig config);
  ~Scheduler();
  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;

  // Times are microseconds on any clock that does not go back (one that does is taken as standing still).
  // Bad tasks, names that are taken or unknown and cycles are an invalid_argument, and nothing is submitted.
  TaskId submit(Task task, double now_us);
  // Tasks that wait for each other, in any order.
  std::vector<TaskId> submit_all(std::span<const Task> tasks, double now_us);

  // What time brings: arrivals, deadlines, ends of holds. Called by the others too.
  void advance(double now_us);
  // When time brings something next; infinity: never.
  double next_timer_us() const;

  // The task whose next piece goes to the device; nothing when no slot is free or nobody is ready.
  std::optional<TaskId> next(double now_us);
  void piece_done(TaskId id, double now_us, double used_us, After after);
  void wake(TaskId id, double now_us);    // an idle task has something to run again; no other is changed
  void finish(TaskId id, double now_us);  // idle: nothing more will come
  // Its piece failed, after `used_us` on the device, or what makes its pieces did.
  void fail(TaskId id, double now_us, std::string message, double used_us = 0);
  // False when it had ended already. One on the device ends when its piece is done.
  bool cancel(TaskId id, double now_us, std::string message = "cancelled");
  void forget(TaskId id);  // of a task that has ended

  TaskState state(TaskId id) const;
  TaskStatus status(TaskId id) const;
  std::optional<TaskId> find(std::string_view name) const;
  std::vector<TaskId> tasks() const;  // in the order they were submitted
  std::string task_name(TaskId id) const;
  std::vector<PartitionStatus> partitions() const;
  int on_device() const;
  bool all_ended() const;  // of those submitted and not forgotten
  double used_us() const;

  // Oldest first; over decisions_kept the oldest are dropped and counted.
  std::span<const Decision> decisions() const;
  std::uint64_t decision_count() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpuforge::sched
