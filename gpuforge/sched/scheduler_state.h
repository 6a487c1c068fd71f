// The books of a Scheduler. Not installed.
#pragma once

#include <queue>
#include <unordered_map>

#include "gpuforge/sched/lane.h"
#include "gpuforge/sched/scheduler.h"

namespace gpuforge::sched {

struct TaskRecord {
  TaskStatus status;
  Turn turn;
  std::uint32_t generation = 0;
  std::uint32_t partition = 0;
  bool in_use = false;
  bool joined = false;    // wants the device
  bool evicting = false;  // at the next boundary
  bool held = false;      // at its share limit
  std::uint32_t waiting_on = 0;
  double queued_since_us = 0;
  double queue_key = 0;
  double joined_work_us = 0;  // the device's when it joined
  double tokens_us = 0;       // device time it may use under its share limit
  double tokens_at_us = 0;
  std::vector<TaskId> dependants;
};

struct PartitionRecord {
  explicit PartitionRecord(Partition spec) : partition(std::move(spec)), lane(paced_share(partition)) {}

  // Sooner is smaller: ageing moves all alike, so the order never changes while they wait.
  struct Queued {
    double key;
    std::uint64_t sequence;
    std::uint32_t index;
    auto operator<=>(const Queued&) const = default;
  };

  Partition partition;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t granted_bytes = 0;
  std::int64_t compute_ppm = 0;  // reserved, in millionths: sums that come out even
  std::int64_t bandwidth_ppm = 0;
  std::vector<std::uint32_t> admitted;
  std::vector<Queued> queue;
  Lane lane;
  int on_device = 0;  // pieces
  double virtual_us = -std::numeric_limits<double>::infinity();
  double used_us = 0;
};

struct Scheduler::State {
  explicit State(SchedulerConfig given);

  // Tasks.
  TaskRecord& at(TaskId id);
  const TaskRecord& at(TaskId id) const;
  TaskId id_of(std::uint32_t index) const { return {index, records[index].generation}; }
  PartitionRecord& partition_of(const TaskRecord& record) { return partitions[record.partition]; }
  // Whether partitions have multiprocessors of their own: then each is paced by itself.
  bool split() const { return partitions.front().partition.multiprocessors > 0; }
  // Device time used by all who share the device with it.
  double work_us(const TaskRecord& record) const;
  void came_back(TaskRecord& record, double used_us);
  std::uint32_t find_partition(const Task& task) const;
  std::uint32_t add(Task task, double arrive_us);
  void set_state(TaskRecord& record, TaskEvent event);
  Decision decide(DecisionKind kind, Reason reason, const TaskRecord& record, std::array<double, 3> inputs,
                  TaskId other = {}, std::uint32_t position = 0);
  void reject(std::uint32_t index, Reason reason, std::array<double, 3> inputs);

  // Time.
  enum class TimerKind : std::uint8_t { arrival, deadline, release };
  struct Timer {
    double at_us;
    std::uint64_t sequence;
    TaskId id;
    TimerKind kind;
    bool operator>(const Timer& other) const {
      return at_us != other.at_us ? at_us > other.at_us : sequence > other.sequence;
    }
  };
  void move_clock(double to_us);
  void add_timer(double at_us, TimerKind kind, std::uint32_t index);
  void run_timer(const Timer& timer);
  bool stale(const Timer& timer) const;
  void drop_stale_timers();

  // Room.
  struct Verdict {
    bool fits = false;
    Reason reason{};
    std::array<double, 3> inputs{};
  };
  std::optional<Verdict> never_fits(const TaskRecord& record) const;
  Verdict judge(const TaskRecord& record) const;
  void arrive_if_free(std::uint32_t index);
  void arrive(std::uint32_t index);
  void enqueue(std::uint32_t index);
  void leave_queue(TaskRecord& record);
  void promote(PartitionRecord& partition);
  void admit(std::uint32_t index);
  void reclaim(PartitionRecord& partition, std::uint64_t bytes, std::uint32_t wanted_by);
  void evict(std::uint32_t index);
  void leave_at_boundary(std::uint32_t index);
  void grow(PartitionRecord& partition);
  void release(std::uint32_t index);
  void room_appeared(PartitionRecord& partition);
  double waited_us(const TaskRecord& record) const;

  // Turns.
  void make_ready(std::uint32_t index);
  void stop_wanting(TaskRecord& record);
  void refill(TaskRecord& record) const;
  void charge(TaskRecord& record, double used_us);
  struct Choice {
    std::uint32_t index;
    bool within_share;
  };
  std::optional<Choice> choose();
  void note_preemption(std::uint32_t chosen);

  // Ends.
  void end(std::uint32_t index, TaskEvent event, Reason reason, TaskId other = {});
  void stop(std::uint32_t index, TaskEvent event, Reason reason);

  SchedulerConfig config;
  std::vector<PartitionRecord> partitions;
  std::vector<TaskRecord> records;
  std::vector<std::uint32_t> free_indices;
  std::unordered_map<std::string, std::uint32_t> by_name;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers;
  std::vector<Decision> decisions;
  std::uint64_t decisions_made = 0;
  std::uint64_t sequence = 0;
  std::size_t live = 0;  // not ended
  double now_us = 0;
  double clock_us = 0;  // common virtual time of the partitions
  double used_us = 0;
  TaskId last;  // dispatched before, and had more to run
};

}  // namespace gpuforge::sched
