#include "gpuforge/sched/executor.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/memory/adaptor.h"
#include "gpuforge/sched/split_partitions.h"
#include "gpuforge/sched/task_memory.h"

namespace gpuforge::sched {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostPieces = 1'000'000;  // kept for the report
// A device that was lost calls nobody back: its pieces are asked about at least this often.
constexpr double kAskAfterUs = 2000;

// Wakes the executor's thread, from the device's threads too, which may outlive it.
class Doorbell {
 public:
  void ring() {
    {
      const std::lock_guard lock(mutex_);
      rung_ = true;
    }
    changed_.notify_all();
  }
  void wait_until(Clock::time_point until) {
    std::unique_lock lock(mutex_);
    const auto ready = [this] { return rung_; };
    if (until == Clock::time_point::max()) {
      changed_.wait(lock, ready);
    } else {
      changed_.wait_until(lock, until, ready);
    }
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool rung_ = false;
};

int stream_priority(Qos qos) {
  return qos == Qos::guaranteed ? 2 : qos == Qos::burstable ? 1 : 0;
}

std::string text_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "something that is no exception was thrown";
  }
}

}  // namespace

struct Executor::State {
  State(std::shared_ptr<device::Device> of, SchedulerConfig config,
        std::shared_ptr<memory::Allocator> memory_from)
      : device(std::move(of)),
        allocator(memory_from != nullptr ? std::move(memory_from) : memory::make_device_allocator(device)),
        parts(split_partitions(*device, config)),
        scheduler(std::move(config)) {}

  // What a task has on the device. Touched by the executor's thread alone, but for the map itself.
  struct Runner {
    std::shared_ptr<memory::LimitAllocator> memory;  // goes last: the body may have some
    std::unique_ptr<Body> body;
    std::shared_ptr<device::Stream> stream;
    std::unique_ptr<device::Event> start;
    std::unique_ptr<device::Event> end;
    double started_us = 0;
    bool in_flight = false;
    bool woken = false;  // while it was on the device
    double wake_at_us = kNever;
  };

  double now_us() const { return std::chrono::duration<double, std::micro>(Clock::now() - began).count(); }
  static std::uint64_t key(TaskId id) { return std::uint64_t{id.generation} << 32 | id.index; }

  void run();
  void start_pieces(std::unique_lock<std::mutex>& lock);
  void start(TaskId id, std::unique_lock<std::mutex>& lock);
  void collect(std::unique_lock<std::mutex>& lock);
  void collect_one(TaskId id, Runner& runner, std::unique_lock<std::mutex>& lock);
  void wake_those_due();
  void drop_ended(std::unique_lock<std::mutex>& lock);
  Clock::time_point next_look() const;

  const std::shared_ptr<device::Device> device;
  const std::shared_ptr<memory::Allocator> allocator;
  const PartitionParts parts;
  const Clock::time_point began = Clock::now();
  const std::shared_ptr<Doorbell> bell = std::make_shared<Doorbell>();
  mutable std::mutex mutex;  // of all below
  std::condition_variable ended;
  Scheduler scheduler;
  std::unordered_map<std::uint64_t, std::pair<TaskId, Runner>> runners;
  std::vector<TaskId> in_flight;
  std::vector<PieceReport> pieces;
  bool stopping = false;
  std::thread thread;
};

void Executor::State::run() {
  std::unique_lock lock(mutex);
  while (true) {
    collect(lock);
    scheduler.advance(now_us());
    wake_those_due();
    start_pieces(lock);
    drop_ended(lock);
    ended.notify_all();
    if (stopping && scheduler.all_ended() && in_flight.empty()) return;
    const Clock::time_point until = next_look();
    lock.unlock();
    bell->wait_until(until);
    lock.lock();
  }
}

Clock::time_point Executor::State::next_look() const {
  double at_us = scheduler.next_timer_us();
  for (const auto& [key, entry] : runners) at_us = std::min(at_us, entry.second.wake_at_us);
  if (!in_flight.empty()) at_us = std::min(at_us, now_us() + kAskAfterUs);
  if (at_us == kNever) return Clock::time_point::max();
  return began +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::micro>(at_us));
}

void Executor::State::wake_those_due() {
  const double now = now_us();
  for (auto& [key, entry] : runners) {
    if (entry.second.wake_at_us > now) continue;
    entry.second.wake_at_us = kNever;
    entry.second.woken = entry.second.in_flight;
    scheduler.wake(entry.first, now);
  }
}

// A task that has ended, and whose piece is done, keeps nothing of the device. Bodies go without the lock, as
// they are called: what they wait for may wait for it.
void Executor::State::drop_ended(std::unique_lock<std::mutex>& lock) {
  std::vector<Runner> dropped;
  for (auto each = runners.begin(); each != runners.end();) {
    auto& [id, runner] = each->second;
    const bool over = !runner.in_flight && is_end(scheduler.state(id));
    if (over) dropped.push_back(std::move(runner));
    each = over ? runners.erase(each) : std::next(each);
  }
  if (dropped.empty()) return;
  lock.unlock();
  dropped.clear();
  lock.lock();
}

void Executor::State::start_pieces(std::unique_lock<std::mutex>& lock) {
  while (const auto id = scheduler.next(now_us())) start(*id, lock);
}

void Executor::State::start(TaskId id, std::unique_lock<std::mutex>& lock) {
  Runner& runner = runners.at(key(id)).second;  // a map's elements stay where they are
  const TaskStatus status = scheduler.status(id);
  lock.unlock();
  std::exception_ptr thrown;
  const double started = now_us();
  device::ComputePart* const part = parts.of(status.task);
  try {
    if (runner.memory == nullptr) runner.memory = task_memory(allocator, status.task.name);
    runner.memory->set_limit(status.granted_bytes);
    if (!runner.stream) {
      const int urgency = stream_priority(status.task.qos);
      runner.stream = part != nullptr ? part->make_stream(urgency) : device->make_stream(urgency);
      runner.start = device->make_event(true);
      runner.end = device->make_event(true);
    }
    runner.stream->record(*runner.start);
    const std::shared_ptr<memory::Allocator> limited = runner.memory;
    Piece piece{*runner.stream,       started, status.arrived_us.value_or(0),
                status.granted_bytes, limited, part != nullptr ? part->multiprocessors() : 0};
    runner.body->submit(piece);
    check_memory(*runner.memory, status);
    runner.stream->record(*runner.end);
    runner.stream->enqueue([bell = bell] { bell->ring(); });
  } catch (...) {
    thrown = std::current_exception();
    // Part of the piece may be queued: what it uses goes only when it is done.
    try {
      if (runner.stream) runner.stream->synchronize();
    } catch (...) {
      // The first failure is the one to tell.
    }
  }
  lock.lock();
  if (thrown) {
    runner.stream.reset();
    scheduler.fail(id, now_us(), text_of(thrown), now_us() - started);
    return;
  }
  runner.started_us = started;
  runner.in_flight = true;
  in_flight.push_back(id);
}

void Executor::State::collect(std::unique_lock<std::mutex>& lock) {
  const std::vector<TaskId> asked = in_flight;
  for (const TaskId id : asked) collect_one(id, runners.at(key(id)).second, lock);
}

void Executor::State::collect_one(TaskId id, Runner& runner, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  bool done = false;
  double used_us = 0;
  double wake_at = kNever;
  After after = After::finished;
  std::exception_ptr thrown;
  try {
    done = runner.end->done();
    if (done) {
      runner.stream->synchronize();  // throws what the piece failed with
      used_us = std::max(0.0, 1e3 * static_cast<double>(runner.end->elapsed_ms_since(*runner.start)));
      after = runner.body->done(now_us());
      if (after == After::rest) wake_at = runner.body->wake_at_us();
    }
  } catch (...) {
    thrown = std::current_exception();
    done = true;
  }
  lock.lock();
  if (!done) return;
  const double now = now_us();
  if (pieces.size() < kMostPieces)
    pieces.push_back({id, runner.started_us, thrown ? now - runner.started_us : used_us});
  if (thrown) {
    scheduler.fail(id, now, text_of(thrown), used_us);
  } else {
    if (after == After::rest) {
      const bool again = std::exchange(runner.woken, false);
      runner.wake_at_us = again ? now : std::min(runner.wake_at_us, wake_at);
    }
    scheduler.piece_done(id, now, used_us, after);
  }
  if (!is_admitted(scheduler.state(id))) {
    lock.unlock();
    std::exception_ptr thrown_late;
    try {
      if (!thrown) runner.body->release();
    } catch (...) {
      thrown_late = std::current_exception();
    }
    runner.stream.reset();
    lock.lock();
    if (thrown_late) scheduler.fail(id, now_us(), text_of(thrown_late), 0);  // unless it has ended
  }
  runner.in_flight = false;  // from here on it may be forgotten
  std::erase(in_flight, id);
}

Executor::Executor(std::shared_ptr<device::Device> device, SchedulerConfig config,
                   std::shared_ptr<memory::Allocator> allocator)
    : state_(std::make_shared<State>(std::move(device), std::move(config), std::move(allocator))) {
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

Executor::~Executor() {
  cancel_all("the executor was destroyed");
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->bell->ring();
  state_->thread.join();
}

TaskId Executor::submit(Task task, std::unique_ptr<Body> body) {
  std::vector<Submission> submissions;
  submissions.push_back({std::move(task), std::move(body)});
  return submit_all(std::move(submissions)).front();
}

std::vector<TaskId> Executor::submit_all(std::vector<Submission> submissions) {
  std::vector<Task> tasks;
  for (const Submission& submission : submissions) {
    GPUFORGE_CHECK(submission.body != nullptr, "sched: task {} has no body: there is nothing to run",
                   submission.task.name);
    tasks.push_back(submission.task);
  }
  std::vector<TaskId> ids;
  {
    const std::lock_guard lock(state_->mutex);
    ids = state_->scheduler.submit_all(tasks, state_->now_us());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      auto& entry = state_->runners[State::key(ids[i])];
      entry.first = ids[i];
      entry.second.body = std::move(submissions[i].body);
    }
  }
  state_->bell->ring();
  return ids;
}

void Executor::wake(TaskId id) {
  {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->runners.find(State::key(id));
    // Whoever is still on the device rests in a moment, and is woken then.
    if (found != state_->runners.end()) found->second.second.wake_at_us = state_->now_us();
  }
  state_->bell->ring();
}

bool Executor::cancel(TaskId id, std::string message) {
  bool was_there = false;
  {
    const std::lock_guard lock(state_->mutex);
    was_there = state_->scheduler.cancel(id, state_->now_us(), std::move(message));
  }
  state_->bell->ring();
  return was_there;
}

void Executor::cancel_all(std::string message) {
  {
    const std::lock_guard lock(state_->mutex);
    for (const TaskId id : state_->scheduler.tasks()) state_->scheduler.cancel(id, state_->now_us(), message);
  }
  state_->bell->ring();
}

void Executor::forget(TaskId id) {
  State::Runner forgotten;  // goes without the lock
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->runners.find(State::key(id));
  GPUFORGE_CHECK(found == state_->runners.end() || !found->second.second.in_flight,
                 "sched: task {} still has a piece on the device; wait for it before it is forgotten",
                 state_->scheduler.task_name(id));
  state_->scheduler.forget(id);
  if (found == state_->runners.end()) return;
  forgotten = std::move(found->second.second);
  state_->runners.erase(found);
}

void Executor::wait(TaskId id) {
  std::unique_lock lock(state_->mutex);
  state_->ended.wait(lock, [&] { return is_end(state_->scheduler.state(id)); });
}

void Executor::wait_all() {
  std::unique_lock lock(state_->mutex);
  state_->ended.wait(lock, [&] { return state_->scheduler.all_ended() && state_->in_flight.empty(); });
}

bool Executor::wait_all_until(double at_us) {
  std::unique_lock lock(state_->mutex);
  const auto until = state_->began + std::chrono::duration_cast<Clock::duration>(
                                         std::chrono::duration<double, std::micro>(at_us));
  return state_->ended.wait_until(lock, until,
                                  [&] { return state_->scheduler.all_ended() && state_->in_flight.empty(); });
}

TaskStatus Executor::status(TaskId id) const {
  const std::lock_guard lock(state_->mutex);
  return state_->scheduler.status(id);
}

std::vector<PartitionStatus> Executor::partitions() const {
  const std::lock_guard lock(state_->mutex);
  return state_->scheduler.partitions();
}

double Executor::now_us() const {
  return state_->now_us();
}

RunReport Executor::report() const {
  const std::lock_guard lock(state_->mutex);
  RunReport report;
  report.device = state_->device->facts().name;
  report.end_us = state_->now_us();
  report.used_us = state_->scheduler.used_us();
  for (const TaskId id : state_->scheduler.tasks())
    report.tasks.push_back({id, state_->scheduler.status(id), {}});
  report.partitions = state_->scheduler.partitions();
  report.decisions.assign(state_->scheduler.decisions().begin(), state_->scheduler.decisions().end());
  report.decisions_made = state_->scheduler.decision_count();
  report.pieces = state_->pieces;
  return report;
}

}  // namespace gpuforge::sched
