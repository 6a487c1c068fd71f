// Turns: whose piece goes to the device next.
#include <algorithm>

#include "gpuforge/sched/scheduler_state.h"

namespace gpuforge::sched {
namespace {

// A debt below what a clock of days resolves is none: waiting for it would last no time, for ever.
constexpr double kLeastDebtUs = 0.01;

}  // namespace

// Device time it may use goes up with its limit, by at most a burst.
void Scheduler::State::refill(TaskRecord& record) const {
  const double limit = share_limit(record.status.task);
  record.tokens_us =
      std::min(limit * config.burst_us, record.tokens_us + limit * (now_us - record.tokens_at_us));
  record.tokens_at_us = now_us;
}

void Scheduler::State::make_ready(std::uint32_t index) {
  TaskRecord& record = records[index];
  PartitionRecord& partition = partition_of(record);
  const double limit = share_limit(record.status.task);
  if (limit < 1) {
    refill(record);
    if (record.tokens_us < -kLeastDebtUs) {
      const double until_us = now_us - record.tokens_us / limit;
      stop_wanting(record);
      record.held = true;
      ++record.status.holds;
      decide(DecisionKind::hold, Reason::at_share_limit, record, {limit, until_us, -record.tokens_us});
      add_timer(until_us, TimerKind::release, index);
      return;
    }
  }
  if (!record.joined) {
    if (partition.lane.active() == 0)
      partition.virtual_us = std::max(partition.virtual_us, clock_us - config.burst_us);
    partition.lane.join(record.turn, record.turn.qos == Qos::best_effort ? 0 : config.burst_us);
    record.joined = true;
    record.joined_work_us = work_us(record);
  }
  partition.lane.put(record.turn);
}

void Scheduler::State::stop_wanting(TaskRecord& record) {
  record.held = false;
  if (!record.joined) return;
  PartitionRecord& partition = partition_of(record);
  if (record.turn.waiting) partition.lane.take(record.turn);
  partition.lane.leave(record.turn);
  record.joined = false;
  record.status.wanted_us += work_us(record) - record.joined_work_us;
}

double Scheduler::State::work_us(const TaskRecord& record) const {
  if (!split()) return used_us;
  const PartitionRecord& partition = partitions[record.partition];
  return partition.used_us / part_of_device(partition.partition);
}

void Scheduler::State::charge(TaskRecord& record, double piece_us) {
  PartitionRecord& partition = partition_of(record);
  if (split()) {
    piece_us *= part_of_device(partition.partition);
  } else {
    double active_share = 0;
    for (const PartitionRecord& each : partitions) {
      if (each.lane.active() > 0) active_share += paced_share(each.partition);
    }
    partition.virtual_us += piece_us / paced_share(partition.partition);
    clock_us += piece_us / active_share;
  }
  partition.lane.charge(record.turn, piece_us);
  partition.used_us += piece_us;
  record.status.used_us += piece_us;
  used_us += piece_us;
  if (share_limit(record.status.task) < 1) {
    refill(record);
    record.tokens_us -= piece_us;
  }
}

// The piece of a task has left the device.
void Scheduler::State::came_back(TaskRecord& record, double piece_us) {
  charge(record, piece_us);
  --partition_of(record).on_device;
}

// The rule of a lane once more, between partitions: of those within their share, the one with the highest
// class to offer. Partitions with multiprocessors of their own do not wait for each other.
std::optional<Scheduler::State::Choice> Scheduler::State::choose() {
  struct Offer {
    PartitionRecord* partition;
    Lane::Pick pick;
  };
  std::optional<Offer> best;
  std::optional<Offer> earliest;
  int on_device = 0;
  for (const PartitionRecord& partition : partitions) on_device += partition.on_device;
  for (PartitionRecord& partition : partitions) {
    if ((split() ? partition.on_device : on_device) >= config.slots) continue;
    const auto pick = partition.lane.best();
    if (!pick) continue;
    if (split()) {
      if (!best || pick->qos < best->pick.qos) best = {&partition, *pick};
      continue;
    }
    if (!earliest || partition.virtual_us < earliest->partition->virtual_us) earliest = {&partition, *pick};
    if (partition.virtual_us > clock_us) continue;
    if (!best || pick->qos < best->pick.qos ||
        (pick->qos == best->pick.qos && partition.virtual_us < best->partition->virtual_us))
      best = {&partition, *pick};
  }
  if (best) return Choice{best->pick.index, best->pick.within_share};
  if (!earliest) return std::nullopt;
  clock_us = std::max(clock_us, earliest->partition->virtual_us);
  return Choice{earliest->pick.index, false};
}

void Scheduler::State::note_preemption(std::uint32_t chosen) {
  const TaskId before = std::exchange(last, TaskId{});
  if (!before.valid() || before.index == chosen) return;
  TaskRecord& record = records[before.index];
  if (record.generation != before.generation || !record.turn.waiting) return;
  if (split() && record.partition != records[chosen].partition) return;
  const Turn& next = records[chosen].turn;
  if (next.qos >= record.turn.qos) return;
  ++record.status.preemptions;
  decide(DecisionKind::preempt, Reason::higher_class, record,
         {static_cast<double>(priority(record.turn.qos)), static_cast<double>(priority(next.qos)), 0},
         id_of(chosen));
}

}  // namespace gpuforge::sched
