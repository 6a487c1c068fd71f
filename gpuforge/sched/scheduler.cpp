#include "gpuforge/sched/scheduler.h"

#include <algorithm>
#include <cmath>

#include "gpuforge/base/error.h"
#include "gpuforge/sched/scheduler_state.h"

namespace gpuforge::sched {
Scheduler::Scheduler(SchedulerConfig config) : state_(std::make_unique<State>(std::move(config))) {}
Scheduler::~Scheduler() = default;
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;

TaskId Scheduler::submit(Task task, double now_us) {
  return submit_all(std::span(&task, 1), now_us).front();
}

std::vector<TaskId> Scheduler::submit_all(std::span<const Task> tasks, double now_us) {
  State& state = *state_;
  for (const Task& task : tasks) {
    check(task);
    state.find_partition(task);
    GPUFORGE_CHECK(!state.by_name.contains(task.name),
                   "sched: there are two tasks called {}; names are how tasks are told apart", task.name);
  }
  check_dependencies(tasks, [&](const std::string& known) { return state.by_name.contains(known); });
  advance(now_us);
  std::vector<TaskId> ids;
  std::vector<std::uint32_t> indices;
  for (const Task& task : tasks) indices.push_back(state.add(task, state.now_us));
  for (const std::uint32_t index : indices) ids.push_back(state.id_of(index));
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    TaskId failed;
    for (const std::string& name : tasks[i].after) {
      TaskRecord& before = state.records[state.by_name.at(name)];
      if (before.status.state == TaskState::completed) continue;
      if (is_end(before.status.state)) {
        failed = state.id_of(state.by_name.at(name));
        continue;
      }
      before.dependants.push_back(ids[i]);
      ++state.records[indices[i]].waiting_on;
    }
    if (failed.valid()) state.end(indices[i], TaskEvent::fail, Reason::dependency_failed, failed);
  }
  for (const std::uint32_t index : indices) {
    const TaskRecord& record = state.records[index];
    if (record.status.state != TaskState::blocked) continue;
    if (record.status.task.arrive_us > state.now_us) {
      state.add_timer(record.status.task.arrive_us, State::TimerKind::arrival, index);
    } else {
      state.arrive_if_free(index);
    }
  }
  return ids;
}

void Scheduler::advance(double now_us) {
  state_->move_clock(now_us);
}

double Scheduler::next_timer_us() const {
  state_->drop_stale_timers();
  return state_->timers.empty() ? std::numeric_limits<double>::infinity() : state_->timers.top().at_us;
}

std::optional<TaskId> Scheduler::next(double now_us) {
  State& state = *state_;
  state.move_clock(now_us);
  const auto chosen = state.choose();
  if (!chosen) return std::nullopt;
  TaskRecord& record = state.records[chosen->index];
  PartitionRecord& partition = state.partition_of(record);
  state.note_preemption(chosen->index);
  state.decide(DecisionKind::dispatch, chosen->within_share ? Reason::within_share : Reason::device_free,
               record,
               {record.turn.virtual_us, partition.lane.clock_us(), partition.lane.weight(record.turn)});
  partition.lane.take(record.turn);
  state.set_state(record, TaskEvent::dispatch);
  ++partition.on_device;
  if (!record.status.started_us) record.status.started_us = state.now_us;
  return state.id_of(chosen->index);
}

void Scheduler::piece_done(TaskId id, double now_us, double used_us, After after) {
  State& state = *state_;
  GPUFORGE_CHECK(std::isfinite(used_us) && used_us >= 0,
                 "sched: task {}: a piece took a time of 0 or more; found {} us", task_name(id), used_us);
  TaskRecord& record = state.at(id);
  GPUFORGE_CHECK(sched::on_device(record.status.state),
                 "sched: task {}: a piece of it is done, but none was on the device: it is {}",
                 record.status.task.name, name(record.status.state));
  // A deadline that has passed meanwhile counts first; one that passes just now does not.
  state.move_clock(std::nextafter(now_us, -std::numeric_limits<double>::infinity()));
  state.now_us = std::max(state.now_us, now_us);
  state.came_back(record, used_us);
  ++record.status.pieces;
  if (record.status.state != TaskState::running) {
    const bool expired = record.status.state == TaskState::expiring;
    state.end(id.index, TaskEvent::boundary, expired ? Reason::deadline_passed : Reason::asked_to);
  } else if (after == After::finished) {
    state.end(id.index, TaskEvent::finish, Reason::done);
  } else if (after == After::rest) {
    state.set_state(record, TaskEvent::rest);
    state.stop_wanting(record);
    if (record.evicting) state.leave_at_boundary(id.index);
  } else {
    state.set_state(record, TaskEvent::boundary);
    state.last = id;
    if (record.evicting) {
      state.leave_at_boundary(id.index);
    } else {
      state.make_ready(id.index);
    }
  }
  state.move_clock(now_us);
}

void Scheduler::wake(TaskId id, double now_us) {
  State& state = *state_;
  state.move_clock(now_us);
  TaskRecord& record = state.at(id);
  if (record.status.state != TaskState::idle) return;
  state.set_state(record, TaskEvent::wake);
  state.make_ready(id.index);
}

void Scheduler::finish(TaskId id, double now_us) {
  State& state = *state_;
  state.move_clock(now_us);
  const TaskState found = state.at(id).status.state;
  if (is_end(found)) return;
  GPUFORGE_CHECK(found == TaskState::idle, "sched: task {} is {}; only an idle one finishes by itself",
                 task_name(id), name(found));
  state.end(id.index, TaskEvent::finish, Reason::done);
}

void Scheduler::fail(TaskId id, double now_us, std::string message, double used_us) {
  State& state = *state_;
  TaskRecord& record = state.at(id);
  if (is_end(record.status.state)) return;
  if (sched::on_device(record.status.state)) {
    state.came_back(record, std::max(used_us, 0.0));
    ++record.status.pieces;
  }
  record.status.message = std::move(message);
  state.now_us = std::max(state.now_us, now_us);
  state.end(id.index, TaskEvent::fail, Reason::body_failed);
  state.move_clock(now_us);
}

bool Scheduler::cancel(TaskId id, double now_us, std::string message) {
  State& state = *state_;
  state.move_clock(now_us);
  TaskRecord& record = state.at(id);
  if (is_end(record.status.state)) return false;
  if (record.status.state != TaskState::expiring) record.status.message = std::move(message);
  state.stop(id.index, TaskEvent::cancel, Reason::asked_to);
  return true;
}

void Scheduler::forget(TaskId id) {
  State& state = *state_;
  TaskRecord& record = state.at(id);
  GPUFORGE_CHECK(is_end(record.status.state), "sched: task {} is {}; only one that has ended is forgotten",
                 record.status.task.name, name(record.status.state));
  state.by_name.erase(record.status.task.name);
  const std::uint32_t generation = record.generation + 1;
  record = TaskRecord{};
  record.generation = generation;
  state.free_indices.push_back(id.index);
}

TaskState Scheduler::state(TaskId id) const {
  return state_->at(id).status.state;
}

TaskStatus Scheduler::status(TaskId id) const {
  const TaskRecord& record = state_->at(id);
  TaskStatus status = record.status;
  status.virtual_us = record.turn.virtual_us;
  status.held = record.held;
  if (record.joined) status.wanted_us += state_->work_us(record) - record.joined_work_us;
  if (status.state == TaskState::queued) status.waited_us = state_->waited_us(record);
  return status;
}

std::optional<TaskId> Scheduler::find(std::string_view name) const {
  const auto found = state_->by_name.find(std::string(name));
  if (found == state_->by_name.end()) return std::nullopt;
  return state_->id_of(found->second);
}

std::vector<TaskId> Scheduler::tasks() const {
  std::vector<TaskId> ids;
  for (std::uint32_t i = 0; i < state_->records.size(); ++i) {
    if (state_->records[i].in_use) ids.push_back(state_->id_of(i));
  }
  std::ranges::sort(ids, {}, [&](TaskId id) { return state_->records[id.index].turn.sequence; });
  return ids;
}

std::string Scheduler::task_name(TaskId id) const {
  if (id.index >= state_->records.size() || state_->records[id.index].generation != id.generation)
    return "a forgotten task";
  return state_->records[id.index].status.task.name;
}

std::vector<PartitionStatus> Scheduler::partitions() const {
  std::vector<PartitionStatus> all;
  for (const PartitionRecord& record : state_->partitions) {
    all.push_back({.partition = record.partition,
                   .reserved_bytes = record.reserved_bytes,
                   .granted_bytes = record.granted_bytes,
                   .compute_reserved = static_cast<double>(record.compute_ppm) / 1e6,
                   .bandwidth_reserved = static_cast<double>(record.bandwidth_ppm) / 1e6,
                   .admitted = static_cast<int>(record.admitted.size()),
                   .queued = static_cast<int>(record.queue.size()),
                   .used_us = record.used_us,
                   .clock_us = record.lane.clock_us()});
  }
  return all;
}

int Scheduler::on_device() const {
  int all = 0;
  for (const PartitionRecord& partition : state_->partitions) all += partition.on_device;
  return all;
}
bool Scheduler::all_ended() const {
  return state_->live == 0;
}
double Scheduler::used_us() const {
  return state_->used_us;
}
std::span<const Decision> Scheduler::decisions() const {
  return state_->decisions;
}
std::uint64_t Scheduler::decision_count() const {
  return state_->decisions_made;
}

}  // namespace gpuforge::sched
