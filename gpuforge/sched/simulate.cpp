#include "gpuforge/sched/simulate.h"

#include <algorithm>
#include <queue>

#include "gpuforge/base/error.h"
#include "gpuforge/sched/script.h"

namespace gpuforge::sched {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

SchedulerConfig checked_config(const Workload& workload) {
  const bool wants_memory = std::ranges::any_of(
      workload.tasks, [](const WorkloadTask& task) { return task.task.memory.limit > 0; });
  GPUFORGE_CHECK(workload.knows_memory || !wants_memory,
                 "sched: {}: its tasks ask for memory, so a simulation needs to know how much there is; add\n"
                 "  device: {{memory: 80GiB}}",
                 workload.name);
  for (const WorkloadTask& task : workload.tasks) {
    for (const KernelStep& step : task.steps) {
      GPUFORGE_CHECK(
          step.kind != KernelStep::Kind::kernel || step.duration_us > 0,
          "sched: {}:{}: a simulation does not run {}, so it needs to know how long it takes; add\n"
          "  takes: 100us",
          workload.name, step.line, step.kernel);
    }
  }
  return workload.config;
}

class Simulation {
 public:
  Simulation(const Workload& workload, const SimulateOptions& options)
      : workload_(workload), options_(options), scheduler_(checked_config(workload)) {
    std::vector<Task> tasks;
    for (const WorkloadTask& task : workload.tasks) tasks.push_back(task.task);
    for (std::size_t i = 0; i < tasks.size(); ++i) scripts_.emplace_back(workload.tasks[i], workload.seed, i);
    ids_ = scheduler_.submit_all(tasks, 0);
    for (std::uint32_t i = 0; i < ids_.size(); ++i) {
      if (workload.tasks[i].cancel_us) outside_.push({*workload.tasks[i].cancel_us, i, true});
    }
    report_.workload = workload.name;
    report_.device = "simulated";
  }

  RunReport run() {
    while (true) {
      watch();
      start_pieces();
      double next_us = std::min(scheduler_.next_timer_us(), outside_.empty() ? kNever : outside_.top().at_us);
      if (!pieces_.empty()) next_us = std::min(next_us, pieces_.top().end_us);
      if (next_us == kNever) break;
      if (workload_.until_us && next_us > *workload_.until_us) {
        stop_all(*workload_.until_us);
        break;
      }
      now_us_ = std::max(now_us_, next_us);
      end_pieces();
      come_from_outside();
      scheduler_.advance(now_us_);
    }
    watch();
    finish_report();
    return std::move(report_);
  }

 private:
  struct Piece {
    double end_us;
    std::uint32_t index;
    double start_us;
    double used_us;
    bool empty;  // woken, but there was nothing to run
    const std::string* failure;
    bool operator>(const Piece& other) const {
      return end_us != other.end_us ? end_us > other.end_us : index > other.index;
    }
  };
  // What the scheduler is told from outside: a request has come, somebody cancels.
  struct Outside {
    double at_us;
    std::uint32_t index;
    bool cancel;
    bool operator>(const Outside& other) const {
      return at_us != other.at_us ? at_us > other.at_us : index > other.index;
    }
  };

  void watch() const {
    if (options_.watch) options_.watch(scheduler_);
  }

  double simulated_us(const KernelCall& call) const {
    const double us = call.step->kind == KernelStep::Kind::stream
                          ? 2 * static_cast<double>(call.step->bytes) / (workload_.stream_gb_per_s * 1e3)
                          : call.step->duration_us;
    return us * call.scale;
  }

  void start_pieces() {
    while (const auto id = scheduler_.next(now_us_)) {
      const std::uint32_t index = id->index;  // a scheduler of our own counts from 0
      Script& script = scripts_[index];
      if (!script.has_arrived()) script.arrived(*scheduler_.status(*id).arrived_us);
      const auto call = script.next(now_us_);
      const double us = call ? simulated_us(*call) : 0;
      pieces_.push({now_us_ + us, index, now_us_, us, !call,
                    call && !call->step->failure.empty() ? &call->step->failure : nullptr});
    }
  }

  void end_pieces() {
    while (!pieces_.empty() && pieces_.top().end_us <= now_us_) {
      const Piece piece = pieces_.top();
      pieces_.pop();
      end_piece(piece, piece.used_us);
    }
  }

  void end_piece(const Piece& piece, double used_us) {
    const TaskId id = ids_[piece.index];
    Script& script = scripts_[piece.index];
    if (!piece.empty) report_.pieces.push_back({id, piece.start_us, used_us});
    if (piece.failure != nullptr) {
      scheduler_.fail(id, now_us_, *piece.failure, used_us);
      return;
    }
    const After after = piece.empty ? After::rest : script.done(now_us_);
    scheduler_.piece_done(id, now_us_, used_us, after);
    if (after == After::rest) outside_.push({script.next_request_us(), piece.index, false});
  }

  void come_from_outside() {
    while (!outside_.empty() && outside_.top().at_us <= now_us_) {
      const Outside event = outside_.top();
      outside_.pop();
      if (event.cancel) {
        scheduler_.cancel(ids_[event.index], now_us_, "cancelled by the workload");
      } else {
        scheduler_.wake(ids_[event.index], now_us_);
      }
    }
  }

  // Pieces are cut where the simulation ends.
  void stop_all(double at_us) {
    now_us_ = std::max(now_us_, at_us);
    for (const TaskId id : ids_) scheduler_.cancel(id, now_us_, "the workload ended");
    while (!pieces_.empty()) {
      const Piece piece = pieces_.top();
      pieces_.pop();
      const double used_us = now_us_ - piece.start_us;
      if (!piece.empty) report_.pieces.push_back({ids_[piece.index], piece.start_us, used_us});
      scheduler_.piece_done(ids_[piece.index], now_us_, used_us, After::more);
    }
  }

  void finish_report() {
    for (std::size_t i = 0; i < ids_.size(); ++i)
      report_.tasks.push_back({ids_[i], scheduler_.status(ids_[i]), scripts_[i].latencies_us()});
    report_.end_us = now_us_;
    report_.used_us = scheduler_.used_us();
    report_.partitions = scheduler_.partitions();
    report_.decisions.assign(scheduler_.decisions().begin(), scheduler_.decisions().end());
    report_.decisions_made = scheduler_.decision_count();
  }

  const Workload& workload_;
  const SimulateOptions& options_;
  Scheduler scheduler_;
  std::vector<TaskId> ids_;
  std::vector<Script> scripts_;
  std::priority_queue<Piece, std::vector<Piece>, std::greater<>> pieces_;
  std::priority_queue<Outside, std::vector<Outside>, std::greater<>> outside_;
  double now_us_ = 0;
  RunReport report_;
};

}  // namespace

RunReport simulate(const Workload& workload, const SimulateOptions& options) {
  return Simulation(workload, options).run();
}

}  // namespace gpuforge::sched
