// Room: who is admitted, who waits for what, and whose loans are called back.
#include <algorithm>
#include <cmath>

#include "gpuforge/base/error.h"
#include "gpuforge/sched/scheduler_state.h"

namespace gpuforge::sched {
namespace {

std::int64_t ppm(double share) {
  return static_cast<std::int64_t>(std::llround(share * 1e6));
}

double real(std::uint64_t bytes) {
  return static_cast<double>(bytes);
}

double real_share(std::int64_t share_ppm) {
  return static_cast<double>(share_ppm) / 1e6;
}

// What is kept for it whatever happens. (Guaranteed: request and limit are equal.)
std::uint64_t kept_bytes(const TaskRecord& record) {
  return record.status.task.memory.request;
}

}  // namespace

double Scheduler::State::waited_us(const TaskRecord& record) const {
  return record.status.waited_us + (now_us - record.queued_since_us);
}

std::optional<Scheduler::State::Verdict> Scheduler::State::never_fits(const TaskRecord& record) const {
  const Partition& partition = partitions[record.partition].partition;
  const Task& task = record.status.task;
  const std::uint64_t wanted =
      task.memory.limit > 0 ? std::max<std::uint64_t>(task.memory.request, 1) : task.memory.request;
  if (wanted > partition.memory_bytes)
    return Verdict{false, Reason::memory_never, {real(wanted), real(partition.memory_bytes), 0}};
  if (ppm(task.compute.request) > ppm(partition.compute))
    return Verdict{false, Reason::compute_never, {task.compute.request, partition.compute, 0}};
  if (ppm(task.bandwidth.request) > ppm(partition.bandwidth))
    return Verdict{false, Reason::bandwidth_never, {task.bandwidth.request, partition.bandwidth, 0}};
  return std::nullopt;
}

Scheduler::State::Verdict Scheduler::State::judge(const TaskRecord& record) const {
  const PartitionRecord& partition = partitions[record.partition];
  const Task& task = record.status.task;
  const std::uint64_t capacity = partition.partition.memory_bytes;
  const std::uint64_t unreserved = capacity - partition.reserved_bytes;
  const std::uint64_t unlent = capacity - partition.granted_bytes;
  if (kept_bytes(record) > unreserved)
    return {false, Reason::memory_full, {real(kept_bytes(record)), real(unreserved), real(capacity)}};
  if (kept_bytes(record) == 0 && task.memory.limit > 0 && unlent == 0)
    return {false, Reason::nothing_to_lend, {real(task.memory.limit), 0, real(capacity)}};
  const std::int64_t compute_left = ppm(partition.partition.compute) - partition.compute_ppm;
  if (ppm(task.compute.request) > compute_left)
    return {false,
            Reason::compute_full,
            {task.compute.request, real_share(compute_left), partition.partition.compute}};
  const std::int64_t bandwidth_left = ppm(partition.partition.bandwidth) - partition.bandwidth_ppm;
  if (ppm(task.bandwidth.request) > bandwidth_left)
    return {false,
            Reason::bandwidth_full,
            {task.bandwidth.request, real_share(bandwidth_left), partition.partition.bandwidth}};
  const auto streams = static_cast<std::size_t>(partition.partition.streams);
  if (partition.admitted.size() >= streams)
    return {false,
            Reason::streams_full,
            {static_cast<double>(partition.admitted.size()), static_cast<double>(streams), 0}};
  return {.fits = true};
}

void Scheduler::State::arrive_if_free(std::uint32_t index) {
  const TaskRecord& record = records[index];
  if (record.status.state != TaskState::blocked || record.waiting_on > 0 ||
      record.status.task.arrive_us > now_us)
    return;
  arrive(index);
}

void Scheduler::State::reject(std::uint32_t index, Reason reason, std::array<double, 3> inputs) {
  TaskRecord& record = records[index];
  const Decision decision = decide(DecisionKind::reject, reason, record, inputs);
  record.status.message = sentence(decision, [](TaskId) { return std::string(); });
  end(index, TaskEvent::reject, reason);
}

void Scheduler::State::arrive(std::uint32_t index) {
  TaskRecord& record = records[index];
  record.status.arrived_us = now_us;
  if (const auto never = never_fits(record)) {
    reject(index, never->reason, never->inputs);
    return;
  }
  PartitionRecord& partition = partition_of(record);
  set_state(record, TaskEvent::arrive);
  enqueue(index);
  promote(partition);
  if (record.status.state != TaskState::queued) return;
  const auto places = static_cast<std::size_t>(partition.partition.queue);
  if (partition.queue.size() > places) {
    reject(index, Reason::queue_full,
           {static_cast<double>(partition.queue.size() - 1), static_cast<double>(places), 0});
    return;
  }
  const auto place = std::ranges::find(partition.queue, index, &PartitionRecord::Queued::index);
  const auto position = static_cast<std::uint32_t>(place - partition.queue.begin()) + 1;
  const Verdict verdict = judge(record);
  if (!verdict.fits) {
    decide(DecisionKind::queue, verdict.reason, record, verdict.inputs, {}, position);
  } else {
    const std::uint32_t head = partition.queue.front().index;
    decide(DecisionKind::queue, Reason::behind_a_patient_one, record,
           {waited_us(records[head]), config.patience_us, 0}, id_of(head), position);
  }
}

void Scheduler::State::enqueue(std::uint32_t index) {
  TaskRecord& record = records[index];
  PartitionRecord& partition = partition_of(record);
  const int points = priority(record.turn.qos) + record.status.task.priority;
  record.queue_key = *record.status.arrived_us - points * config.ageing_us;
  record.queued_since_us = now_us;
  const PartitionRecord::Queued entry{record.queue_key, record.turn.sequence, index};
  partition.queue.insert(std::ranges::upper_bound(partition.queue, entry), entry);
}

void Scheduler::State::leave_queue(TaskRecord& record) {
  PartitionRecord& partition = partition_of(record);
  const PartitionRecord::Queued entry{record.queue_key, record.turn.sequence, record.turn.index};
  const auto place = std::ranges::lower_bound(partition.queue, entry);
  GPUFORGE_ASSERT(place != partition.queue.end() && *place == entry, "task {} is not in its queue",
                  record.status.task.name);
  partition.queue.erase(place);
  record.status.waited_us = waited_us(record);
}

void Scheduler::State::promote(PartitionRecord& partition) {
  std::size_t i = 0;
  while (i < partition.queue.size() && i <= static_cast<std::size_t>(config.backfill)) {
    const std::uint32_t index = partition.queue[i].index;
    if (judge(records[index]).fits) {
      admit(index);
      i = 0;  // those it evicted may stand before it
      continue;
    }
    if (waited_us(records[index]) > config.patience_us) return;
    ++i;
  }
}

void Scheduler::State::admit(std::uint32_t index) {
  TaskRecord& record = records[index];
  PartitionRecord& partition = partition_of(record);
  const Task& task = record.status.task;
  const std::uint64_t capacity = partition.partition.memory_bytes;
  leave_queue(record);
  std::uint64_t kept = kept_bytes(record);
  if (kept > capacity - partition.granted_bytes)
    reclaim(partition, kept - (capacity - partition.granted_bytes), index);
  const std::uint64_t granted =
      kept + std::min(task.memory.limit - kept, capacity - partition.granted_bytes - kept);
  // One that has waited its patience out keeps what it gets: a stream of newcomers cannot evict it for ever.
  if (record.status.waited_us > config.patience_us) {
    kept = std::max(kept, std::min(granted, capacity - partition.reserved_bytes));
  }
  record.status.reserved_bytes = kept;
  record.status.granted_bytes = granted;
  partition.reserved_bytes += kept;
  partition.granted_bytes += granted;
  partition.compute_ppm += ppm(task.compute.request);
  partition.bandwidth_ppm += ppm(task.bandwidth.request);
  partition.admitted.push_back(index);
  set_state(record, TaskEvent::admit);
  if (!record.status.admitted_us) {
    record.status.admitted_us = now_us;
    record.tokens_us = share_limit(task) * config.burst_us;
    record.tokens_at_us = now_us;
  }
  if (granted < task.memory.limit) {
    decide(DecisionKind::throttle, Reason::fits_in_part, record,
           {real(granted), real(task.memory.limit), real(kept)});
  } else {
    decide(DecisionKind::admit, Reason::fits, record, {real(kept), real(granted), record.turn.request});
  }
  make_ready(index);
}

// Lowest class first, and the youngest of it: who has run longest has most to lose.
void Scheduler::State::reclaim(PartitionRecord& partition, std::uint64_t bytes, std::uint32_t wanted_by) {
  std::vector<std::uint32_t> holders;
  for (const std::uint32_t index : partition.admitted) {
    if (records[index].status.granted_bytes > records[index].status.reserved_bytes) holders.push_back(index);
  }
  std::ranges::sort(holders, [&](std::uint32_t a, std::uint32_t b) {
    const Turn& left = records[a].turn;
    const Turn& right = records[b].turn;
    return left.qos != right.qos ? left.qos > right.qos : left.sequence > right.sequence;
  });
  for (const std::uint32_t index : holders) {
    if (bytes == 0) return;
    TaskRecord& record = records[index];
    const std::uint64_t taken = std::min(bytes, record.status.granted_bytes - record.status.reserved_bytes);
    record.status.granted_bytes -= taken;
    partition.granted_bytes -= taken;
    bytes -= taken;
    decide(DecisionKind::reclaim, Reason::needed_by, record,
           {real(taken), real(record.status.granted_bytes), real(kept_bytes(records[wanted_by]))},
           id_of(wanted_by));
    if (record.status.granted_bytes > 0) continue;
    record.evicting = true;
    if (!sched::on_device(record.status.state)) evict(index);
  }
  GPUFORGE_ASSERT(bytes == 0, "{} bytes of loans could not be called back", bytes);
}

void Scheduler::State::evict(std::uint32_t index) {
  TaskRecord& record = records[index];
  decide(DecisionKind::evict, Reason::nothing_to_lend, record,
         {real(record.status.task.memory.limit), 0, real(partition_of(record).partition.memory_bytes)});
  ++record.status.evictions;
  set_state(record, TaskEvent::evict);
  release(index);
  enqueue(index);
}

// Its stream and shares are free only now, though its memory was taken before.
void Scheduler::State::leave_at_boundary(std::uint32_t index) {
  evict(index);
  room_appeared(partition_of(records[index]));
}

void Scheduler::State::grow(PartitionRecord& partition) {
  std::vector<std::uint32_t> short_of;
  for (const std::uint32_t index : partition.admitted) {
    const TaskRecord& record = records[index];
    if (record.status.granted_bytes < record.status.task.memory.limit && !record.evicting)
      short_of.push_back(index);
  }
  std::ranges::sort(short_of, {}, [&](std::uint32_t index) {
    return std::pair(records[index].turn.qos, records[index].turn.sequence);
  });
  for (const std::uint32_t index : short_of) {
    TaskStatus& status = records[index].status;
    const std::uint64_t before = status.granted_bytes;
    const std::uint64_t more = std::min(status.task.memory.limit - before,
                                        partition.partition.memory_bytes - partition.granted_bytes);
    if (more == 0) return;
    status.granted_bytes += more;
    partition.granted_bytes += more;
    decide(DecisionKind::grow, Reason::room_appeared, records[index],
           {real(status.granted_bytes), real(before), real(status.task.memory.limit)});
  }
}

// Gives back all that an admitted task holds: books, stream, turn.
void Scheduler::State::release(std::uint32_t index) {
  TaskRecord& record = records[index];
  PartitionRecord& partition = partition_of(record);
  stop_wanting(record);
  partition.reserved_bytes -= record.status.reserved_bytes;
  partition.granted_bytes -= record.status.granted_bytes;
  partition.compute_ppm -= ppm(record.status.task.compute.request);
  partition.bandwidth_ppm -= ppm(record.status.task.bandwidth.request);
  record.status.reserved_bytes = 0;
  record.status.granted_bytes = 0;
  record.evicting = false;
  std::erase(partition.admitted, index);
}

void Scheduler::State::room_appeared(PartitionRecord& partition) {
  promote(partition);
  grow(partition);
}

}  // namespace gpuforge::sched
