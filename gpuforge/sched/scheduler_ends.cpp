// Ends: whatever a task ends by, what it held goes back and those that wait for it hear of it.
#include <utility>

#include "gpuforge/sched/scheduler_state.h"

namespace gpuforge::sched {
namespace {

DecisionKind kind_of(TaskState state) {
  if (state == TaskState::completed) return DecisionKind::complete;
  return state == TaskState::cancelled ? DecisionKind::cancel : DecisionKind::fail;
}

}  // namespace

// Now, or when the piece on the device is done.
void Scheduler::State::stop(std::uint32_t index, TaskEvent event, Reason reason) {
  TaskRecord& record = records[index];
  if (sched::on_device(record.status.state)) {
    set_state(record, event);
  } else {
    end(index, event, reason);
  }
}

void Scheduler::State::end(std::uint32_t first, TaskEvent first_event, Reason first_reason,
                           TaskId first_other) {
  struct Ending {
    std::uint32_t index;
    TaskEvent event;
    Reason reason;
    TaskId other;
  };
  std::vector<Ending> endings = {{first, first_event, first_reason, first_other}};
  std::vector<std::uint32_t> freed;
  std::vector<bool> has_room(partitions.size());
  for (std::size_t i = 0; i < endings.size(); ++i) {
    const Ending ending = endings[i];
    TaskRecord& record = records[ending.index];
    if (is_end(record.status.state)) continue;  // two that it waits for have failed
    has_room[record.partition] = true;
    const TaskState before = record.status.state;
    if (before == TaskState::queued) leave_queue(record);
    set_state(record, ending.event);
    if (is_admitted(before)) release(ending.index);
    const TaskState state = record.status.state;
    record.status.ended_us = now_us;
    --live;
    const double used = record.status.used_us;
    const auto pieces = static_cast<double>(record.status.pieces);
    if (ending.reason == Reason::deadline_passed) {
      decide(DecisionKind::fail, ending.reason, record,
             {*record.status.task.deadline_us, now_us - record.status.task.arrive_us, 0});
    } else if (state != TaskState::rejected) {  // which was decided, with its numbers, by admission
      decide(kind_of(state), ending.reason, record, {used, pieces, 0}, ending.other);
    }
    if (ending.reason == Reason::dependency_failed)
      record.status.message = records[ending.other.index].status.task.name + " did not complete";
    for (const TaskId dependant : std::exchange(record.dependants, {})) {
      if (records[dependant.index].generation != dependant.generation) continue;  // ended and forgotten
      if (state != TaskState::completed) {
        endings.push_back({dependant.index, TaskEvent::fail, Reason::dependency_failed, id_of(ending.index)});
      } else if (--records[dependant.index].waiting_on == 0) {
        freed.push_back(dependant.index);
      }
    }
  }
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    if (has_room[i]) room_appeared(partitions[i]);
  }
  for (const std::uint32_t index : freed) arrive_if_free(index);
}

}  // namespace gpuforge::sched
