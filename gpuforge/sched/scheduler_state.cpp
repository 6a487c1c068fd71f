#include "gpuforge/sched/scheduler_state.h"

#include <algorithm>
#include <cmath>

#include "gpuforge/base/error.h"
#include "gpuforge/base/suggest.h"

namespace gpuforge::sched {

Scheduler::State::State(SchedulerConfig given) : config(std::move(given)) {
  GPUFORGE_CHECK(config.slots >= 1, "sched: at least 1 slot is needed; found {}", config.slots);
  GPUFORGE_CHECK(config.backfill >= 0, "sched: backfill is 0 or more; found {}", config.backfill);
  for (const auto& [what, value] :
       {std::pair("ageing", config.ageing_us), std::pair("patience", config.patience_us),
        std::pair("burst", config.burst_us)}) {
    GPUFORGE_CHECK(std::isfinite(value) && value >= 0, "sched: {} is a time of 0 or more; found {} us", what,
                   value);
  }
  for (Partition& partition : complete_partitions(config.partitions, config.memory_bytes))
    partitions.emplace_back(std::move(partition));
  for (const PartitionRecord& record : partitions) {
    GPUFORGE_CHECK((record.partition.multiprocessors > 0) == split(),
                   "sched: partition {}: either all partitions have multiprocessors of their own, or none",
                   record.partition.name);
  }
}

const TaskRecord& Scheduler::State::at(TaskId id) const {
  GPUFORGE_CHECK(
      id.index < records.size() && records[id.index].in_use && records[id.index].generation == id.generation,
      "sched: there is no such task: it was never submitted here, or was forgotten");
  return records[id.index];
}

TaskRecord& Scheduler::State::at(TaskId id) {
  return const_cast<TaskRecord&>(std::as_const(*this).at(id));
}

std::uint32_t Scheduler::State::find_partition(const Task& task) const {
  const std::string_view wanted =
      task.partition.empty() ? kDefaultPartition : std::string_view(task.partition);
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < partitions.size(); ++i) {
    if (partitions[i].partition.name == wanted) return i;
    names.push_back(partitions[i].partition.name);
  }
  std::string list;
  for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
  throw Error(ErrorCode::invalid_argument,
              format_text("sched: task {}: there is no partition '{}'{} (there are {})", task.name, wanted,
                          did_you_mean(wanted, names), list));
}

std::uint32_t Scheduler::State::add(Task task, double arrive_us) {
  std::uint32_t index = static_cast<std::uint32_t>(records.size());
  if (free_indices.empty()) {
    records.emplace_back();
  } else {
    index = free_indices.back();
    free_indices.pop_back();
  }
  TaskRecord& record = records[index];
  record.in_use = true;
  record.partition = find_partition(task);
  record.turn = {.request = requested_share(task), .sequence = ++sequence, .index = index, .qos = task.qos};
  record.status.task = std::move(task);
  record.status.task.arrive_us = std::max(record.status.task.arrive_us, arrive_us);
  by_name.emplace(record.status.task.name, index);
  ++live;
  if (record.status.task.deadline_us)
    add_timer(record.status.task.arrive_us + *record.status.task.deadline_us, TimerKind::deadline, index);
  return index;
}

void Scheduler::State::set_state(TaskRecord& record, TaskEvent event) {
  const auto next = next_state(record.status.state, event);
  GPUFORGE_CHECK(next.has_value(), "sched: task {} is {}: '{}' cannot happen to it", record.status.task.name,
                 name(record.status.state), name(event));
  record.status.state = *next;
}

Decision Scheduler::State::decide(DecisionKind kind, Reason reason, const TaskRecord& record,
                                  std::array<double, 3> inputs, TaskId other, std::uint32_t position) {
  const Decision decision{.time_us = now_us,
                          .task = {record.turn.index, record.generation},
                          .other = other,
                          .inputs = inputs,
                          .position = position,
                          .kind = kind,
                          .reason = reason};
  ++decisions_made;
  if (config.decisions_kept == 0) return decision;
  if (decisions.size() >= config.decisions_kept) {
    // Half at a time, so that this costs nothing on average.
    decisions.erase(decisions.begin(),
                    decisions.begin() + static_cast<std::ptrdiff_t>((decisions.size() + 1) / 2));
  }
  decisions.push_back(decision);
  return decision;
}

void Scheduler::State::add_timer(double at_us, TimerKind kind, std::uint32_t index) {
  timers.push({at_us, ++sequence, id_of(index), kind});
}

bool Scheduler::State::stale(const Timer& timer) const {
  const TaskRecord& record = records[timer.id.index];
  if (!record.in_use || record.generation != timer.id.generation || is_end(record.status.state)) return true;
  if (timer.kind == TimerKind::release) return !record.held;
  return timer.kind == TimerKind::arrival
             ? record.status.state != TaskState::blocked
             : record.status.state == TaskState::expiring || record.status.state == TaskState::cancelling;
}

void Scheduler::State::drop_stale_timers() {
  while (!timers.empty() && stale(timers.top())) timers.pop();
}

void Scheduler::State::move_clock(double to_us) {
  GPUFORGE_CHECK(!std::isnan(to_us), "sched: the time is not a number");
  const double end_us = std::max(now_us, to_us);
  while (true) {
    drop_stale_timers();
    if (timers.empty() || timers.top().at_us > end_us) break;
    const Timer timer = timers.top();
    timers.pop();
    now_us = std::max(now_us, timer.at_us);
    run_timer(timer);
  }
  now_us = end_us;
}

void Scheduler::State::run_timer(const Timer& timer) {
  TaskRecord& record = records[timer.id.index];
  switch (timer.kind) {
    case TimerKind::arrival:
      arrive_if_free(timer.id.index);
      break;
    case TimerKind::deadline:
      record.status.message = "its deadline has passed";
      stop(timer.id.index, TaskEvent::expire, Reason::deadline_passed);
      break;
    case TimerKind::release:
      record.held = false;
      make_ready(timer.id.index);
      break;
  }
}

}  // namespace gpuforge::sched
