// The Scheduler on a real device and a real clock: each task has a stream of its own, with a priority by its
// class; its body queues one piece at a time, and the device time a piece took is measured by events.
// Decisions are the Scheduler's, so that a simulation of the same tasks differs in clock and durations alone.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpuforge/device/device.h"
#include "gpuforge/memory/allocator.h"
#include "gpuforge/sched/run_report.h"
#include "gpuforge/sched/scheduler.h"

namespace gpuforge::sched {

// What a body gets for one piece.
struct Piece {
  device::Stream& stream;
  double now_us = 0;
  double arrived_us = 0;            // when the task did
  std::uint64_t granted_bytes = 0;  // what the task may use at the moment
  // From which it never gets more than that, accounted under the task's name; an Error beyond, which fails
  // the task and nobody else.
  const std::shared_ptr<memory::Allocator>& allocator;
  int multiprocessors = 0;  // of its partition, where those are its own; 0: all
};

// What a task does. Called by the executor's thread alone, one call at a time; what a call throws fails the
// task, and nobody else.
class Body {
 public:
  virtual ~Body() = default;
  // Queues one piece of work, up to a kernel boundary, on the stream. Waits for nothing.
  virtual void submit(Piece& piece) = 0;
  // The piece is done.
  virtual After done(double now_us) = 0;
  // All its memory was called back, and it waits for room again: it frees what it holds.
  virtual void release() {}
  // After `rest`: when there is more to run; infinity: when somebody calls wake.
  virtual double wake_at_us() const { return std::numeric_limits<double>::infinity(); }
};

struct Submission {
  Task task;  // its arrival counts from the executor's start
  std::unique_ptr<Body> body;
};

// Thread-safe. Destroying it cancels what has not ended, waits for the pieces on the device and joins its
// thread.
class Executor {
 public:
  // Tasks get their memory from `allocator`; nothing: from the device. Partitions get multiprocessors of
  // their own where the device can split them (Device::split_compute), unless one has less bandwidth than
  // compute, which only pacing keeps; else they are paced, and Partition::shared_because says why.
  Executor(std::shared_ptr<device::Device> device, SchedulerConfig config,
           std::shared_ptr<memory::Allocator> allocator = nullptr);
  ~Executor();

  // As Scheduler::submit and submit_all.
  TaskId submit(Task task, std::unique_ptr<Body> body);
  std::vector<TaskId> submit_all(std::vector<Submission> submissions);
  void wake(TaskId id);
  bool cancel(TaskId id, std::string message = "cancelled");
  void cancel_all(std::string message);

  void forget(TaskId id);  // of a task that has ended: its name is free again

  void wait(TaskId id);  // until it has ended
  void wait_all();
  bool wait_all_until(double at_us);  // false: the time came first
  TaskStatus status(TaskId id) const;
  std::vector<PartitionStatus> partitions() const;
  double now_us() const;  // since the start
  // Tasks in the order they were submitted, without latencies, which are the bodies' to know.
  RunReport report() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gpuforge::sched
