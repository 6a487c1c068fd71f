#include "gpuforge/ops/descriptions.h"
#include "gpuforge/ops/row_op.h"
#include "gpuforge/ops/softmax_online_backward/softmax_online_backward.h"
#include "gpuforge/ops/softmax_online_backward/softmax_online_backward_kernels.h"
#include "gpuforge/ops/softmax_online_backward/softmax_online_backward_reference.h"
#include "gpuforge/ops/tolerances.h"

namespace gpuforge::ops {
namespace {

RowProblem row_problem_of(const lab::Problem& problem, std::string_view variant) {
  const Strides strides = row_major_strides(problem.shape);
  return softmax_backward_problem(
      softmax_backward_rows(problem.shape, strides, strides, strides, integer_option(problem, "dim")),
      problem.dtype, variant, 0, 0, 0);
}

}  // namespace

lab::Op describe_softmax_online_backward() {
  lab::Op op;
  op.name = "softmax_online_backward";
  op.summary = "dx = y * (dy - sum(dy * y)) along an axis";
  op.variants = {{"best", "both rows read once and held in registers where they fit"},
                 {"naive", "two passes over memory by one thread a row"}};
  describe_axis(op);
  op.hard_contents = {lab::Contents::zeros, lab::Contents::constant, lab::Contents::tiny,
                      lab::Contents::infinities, lab::Contents::nans};
  op.operands = [](const lab::Problem& problem) -> std::vector<lab::Operand> {
    axis_of(problem, "softmax_online_backward");
    return {operand_like(problem, "dx", lab::Role::output), operand_like(problem, "dy", lab::Role::input),
            operand_like(problem, "y", lab::Role::input)};
  };
  op.reference = [](const lab::Problem& problem, std::span<const lab::HostTensor> inputs,
                    const lab::EachRow& each_row) {
    return std::vector{softmax_online_backward_reference(
        inputs[0], inputs[1], axis_of(problem, "softmax_online_backward"), each_row)};
  };
  op.tolerance = [](const lab::Problem& problem, std::size_t) {
    return tolerance("softmax_online_backward", problem.dtype);
  };
  op.cost = [](const lab::Problem& problem) -> lab::Cost {
    const auto count = static_cast<double>(element_count(problem.shape));
    const double bytes = count * static_cast<double>(element_bytes(problem.dtype));
    return {.bytes_read = 2 * bytes, .bytes_written = bytes, .flops = 4 * count};
  };
  op.run = [](const lab::Call& call) {
    softmax_online_backward(
        call.operands[0], call.operands[1], call.operands[2],
        {.dim = integer_option(call.problem, "dim"), .variant = call.variant, .config = call.config},
        call.stream);
  };
  describe_choices(op, row_problem_of,
                   [](Context& context, const lab::Problem& problem, std::string_view variant,
                      const RowConfig& config) -> std::vector<std::shared_ptr<const jit::Kernel>> {
                     return {softmax_backward_kernel(context, variant, problem.dtype, config)};
                   });
  return op;
}

}  // namespace gpuforge::ops
