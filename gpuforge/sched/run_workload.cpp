#include "gpuforge/sched/run_workload.h"

#include <algorithm>
#include <map>

#include "gpuforge/base/error.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/sched/script.h"
#include "gpuforge/sched/stand_ins.h"

namespace gpuforge::sched {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kMostPasses = 1024;

using StepKernelMap = std::map<const KernelStep*, std::unique_ptr<StepKernel>>;

class ScriptBody final : public Body {
 public:
  ScriptBody(std::string name, std::shared_ptr<Script> script, std::shared_ptr<const StandIns> kernels,
             StepKernelMap own_kernels)
      : name_(std::move(name)),
        script_(std::move(script)),
        kernels_(std::move(kernels)),
        own_kernels_(std::move(own_kernels)) {}

  void submit(Piece& piece) override {
    if (!script_->has_arrived()) script_->arrived(piece.arrived_us);
    call_ = script_->next(piece.now_us);
    if (!call_) return;  // woken too early: an empty piece
    const KernelStep& step = *call_->step;
    if (step.kind == KernelStep::Kind::spin) {
      kernels_->spin(step.duration_us * call_->scale, step.waves, piece.multiprocessors, piece.stream);
    } else if (step.kind == KernelStep::Kind::stream) {
      stream_bytes(static_cast<std::uint64_t>(static_cast<double>(step.bytes) * call_->scale), piece);
    } else {
      own_kernels_.at(&step)->queue(piece);
    }
  }

  After done(double now_us) override {
    if (!call_) return After::rest;
    if (!call_->step->failure.empty()) throw Error(ErrorCode::invalid_argument, call_->step->failure);
    return script_->done(now_us);
  }

  double wake_at_us() const override { return script_->next_request_us(); }

  void release() override {
    release_buffers();
    for (const auto& [step, kernel] : own_kernels_) kernel->release();
  }

 private:
  void release_buffers() {
    from_.reset();
    to_.reset();
  }

  // Through buffers no larger than what it may use: with less memory, in more passes.
  void stream_bytes(std::uint64_t bytes, Piece& piece) {
    const std::uint64_t fits = std::min(bytes, piece.granted_bytes / 2);
    const std::uint64_t passes = fits > 0 ? (bytes + fits - 1) / fits : kMostPasses + 1;
    if (passes > kMostPasses) {
      throw Error(ErrorCode::out_of_memory,
                  format_text("task {}: a kernel that moves {} needs twice that, and at least a {}th of it; "
                              "the task may use {}",
                              name_, show_bytes(bytes), kMostPasses, show_bytes(piece.granted_bytes)));
    }
    if (from_.bytes() < fits || from_.bytes() > piece.granted_bytes / 2) {
      release_buffers();
      const auto stream = piece.stream.shared_from_this();
      from_ = memory::Buffer(piece.allocator, fits, stream);
      to_ = memory::Buffer(piece.allocator, fits, stream);
    }
    for (std::uint64_t at = 0; at < bytes; at += fits)
      piece.stream.copy(to_.address(), from_.address(), std::min(fits, bytes - at));
  }

  const std::string name_;
  const std::shared_ptr<Script> script_;
  const std::shared_ptr<const StandIns> kernels_;
  const StepKernelMap own_kernels_;
  std::optional<KernelCall> call_;
  memory::Buffer from_;
  memory::Buffer to_;
};

StepKernelMap make_kernels(const Workload& workload, const WorkloadTask& task, const MakeStepKernel& make) {
  StepKernelMap made;
  for (const KernelStep& step : task.steps) {
    if (step.kind != KernelStep::Kind::kernel) continue;
    GPUFORGE_CHECK(make != nullptr, "sched: {}:{}: nobody here can make the kernel {}", workload.name,
                   step.line, step.kernel);
    try {
      made[&step] = make(step);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::unavailable || error.code() == ErrorCode::internal) throw;
      throw Error(ErrorCode::parse,
                  format_text("{}:{}: kernel {}: {}", workload.name, step.line, step.kernel, error.message()),
                  error.detail());
    }
  }
  return made;
}

SchedulerConfig config_on(const Workload& workload, const device::Device& device) {
  SchedulerConfig config = workload.config;
  const device::MemoryInfo memory = device.memory_info();
  if (!workload.knows_memory) {
    config.memory_bytes = memory.free_bytes;
  } else {
    GPUFORGE_CHECK(config.memory_bytes <= memory.total_bytes,
                   "sched: {}: says that the device has {}, but {} has {}; say less, or leave it out to take "
                   "what is free",
                   workload.name, show_bytes(config.memory_bytes), device.facts().name,
                   show_bytes(memory.total_bytes));
  }
  return config;
}

// Cancels at the times the workload says, then at its end, and waits for everybody.
void see_through(const Workload& workload, const std::vector<TaskId>& ids, Executor& executor) {
  std::vector<std::pair<double, TaskId>> cancels;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (workload.tasks[i].cancel_us) cancels.emplace_back(*workload.tasks[i].cancel_us, ids[i]);
  }
  std::ranges::sort(cancels, {}, &std::pair<double, TaskId>::first);
  const double until_us = workload.until_us.value_or(kNever);
  for (const auto& [at_us, id] : cancels) {
    if (at_us > until_us || executor.wait_all_until(at_us)) break;
    executor.cancel(id, "cancelled by the workload");
  }
  if (workload.until_us && !executor.wait_all_until(*workload.until_us))
    executor.cancel_all("the workload ended");
  executor.wait_all();
}

}  // namespace

RunReport run_workload(const Workload& workload, const std::shared_ptr<Context>& context,
                       const MakeStepKernel& make) {
  const auto kernels = std::make_shared<StandIns>(context);
  std::vector<std::shared_ptr<Script>> scripts;
  std::vector<Submission> submissions;
  for (std::size_t i = 0; i < workload.tasks.size(); ++i) {
    const WorkloadTask& task = workload.tasks[i];
    scripts.push_back(std::make_shared<Script>(task, workload.seed, i));
    submissions.push_back({task.task, std::make_unique<ScriptBody>(task.task.name, scripts.back(), kernels,
                                                                   make_kernels(workload, task, make))});
  }
  Executor executor(context->device().shared_from_this(), config_on(workload, context->device()),
                    context->allocator());
  const std::vector<TaskId> ids = executor.submit_all(std::move(submissions));
  see_through(workload, ids, executor);
  RunReport report = executor.report();
  report.workload = workload.name;
  for (std::size_t i = 0; i < scripts.size(); ++i) report.tasks[i].latencies_us = scripts[i]->latencies_us();
  return report;
}

}  // namespace gpuforge::sched
