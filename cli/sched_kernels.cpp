#include "cli/sched_kernels.h"

#include <optional>
#include <utility>

#include "cli/kernel_ops.h"
#include "gpuforge/lab/kernel_file.h"

namespace gpuforge::cli {
namespace {

class OpKernel final : public sched::StepKernel {
 public:
  OpKernel(lab::Op op, const sched::KernelStep& step, std::shared_ptr<Context> context)
      : op_(std::move(op)),
        context_(std::move(context)),
        problem_(problem_of(op_, step)),
        variant_(lab::find_variant(op_, step.variant).name),
        operands_(op_.operands(problem_)) {
    if (op_.kernels) static_cast<void>(op_.kernels(*context_, problem_, variant_, nullptr));  // compiled now
  }

  void queue(sched::Piece& piece) override {
    if (arrays_.empty()) {
      std::vector<Array> made;
      for (const lab::Operand& operand : operands_) {
        made.push_back(empty(context_, operand.shape, operand.dtype, piece.stream, piece.allocator));
        made.back().fill(operand.role == lab::Role::output ? 0 : 1, piece.stream);
      }
      arrays_ = std::move(made);
    }
    op_.run({problem_, variant_, nullptr, arrays_, piece.stream});
  }

  void release() override { arrays_.clear(); }

 private:
  static lab::Problem problem_of(const lab::Op& op, const sched::KernelStep& step) {
    lab::Problem problem{.shape = lab::parse_shape(step.shape), .dtype = op.dtypes.front()};
    if (!step.dtype.empty()) {
      const std::optional<DType> dtype = parse_dtype(step.dtype);
      GPUFORGE_CHECK(dtype, "expected a dtype such as f32 or bf16; found '{}'", step.dtype);
      problem.dtype = *dtype;
    }
    return lab::complete(op, std::move(problem));
  }

  const lab::Op op_;
  const std::shared_ptr<Context> context_;
  const lab::Problem problem_;
  const std::string variant_;
  const std::vector<lab::Operand> operands_;
  std::vector<Array> arrays_;  // on the stream of the task
};

}  // namespace

sched::MakeStepKernel step_kernels(const Session& session, std::shared_ptr<Context> context,
                                   const std::filesystem::path& workload) {
  return [&session, context = std::move(context), folder = workload.parent_path()](
             const sched::KernelStep& step) -> std::unique_ptr<sched::StepKernel> {
    const std::string name =
        lab::names_kernel_file(step.kernel) ? (folder / step.kernel).string() : step.kernel;
    return std::make_unique<OpKernel>(resolve_ops(session, std::span(&name, 1)).front(), step, context);
  };
}

}  // namespace gpuforge::cli
