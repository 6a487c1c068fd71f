#include <algorithm>

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

std::size_t axis_of(const lab::Problem& problem) {
  return normalize_axis(integer_option(problem, "dim"), std::max<std::size_t>(problem.shape.size(), 1),
                        "softmax_online_backward");
}

}  // namespace

lab::Op describe_softmax_online_backward() {
  lab::Op op;
  op.name = "softmax_online_backward";
  op.summary = "dx = y * (dy - sum(dy * y)) along an axis";
  op.variants = {{"best", "both rows read once and held in registers where they fit"},
                 {"naive", "two passes over memory by one thread a row"}};
  op.dtypes = {DType::f16, DType::bf16, DType::f32};
  op.options = {{"dim", "-1", {}, "the axis"}};
  op.hard_contents = {lab::Contents::zeros, lab::Contents::constant, lab::Contents::tiny,
                      lab::Contents::infinities, lab::Contents::nans};
  for (const Shape& shape :
       {Shape{}, Shape{0, 5}, Shape{5, 0}, Shape{3, 1}, Shape{2, 255}, Shape{3, 1025}, Shape{1, 9001}}) {
    op.check_problems.push_back({.shape = shape});
  }
  op.check_problems.push_back({.shape = {257, 33}, .options = {{"dim", "0"}}});
  op.check_problems.push_back({.shape = {1023, 5}, .options = {{"dim", "-2"}}});
  op.check_problems.push_back({.shape = {3, 65, 5}, .options = {{"dim", "1"}}});
  op.accepts_strides = true;

  op.operands = [](const lab::Problem& problem) -> std::vector<lab::Operand> {
    axis_of(problem);
    return {{.name = "dx", .role = lab::Role::output, .dtype = problem.dtype, .shape = problem.shape},
            {.name = "dy", .role = lab::Role::input, .dtype = problem.dtype, .shape = problem.shape},
            {.name = "y", .role = lab::Role::input, .dtype = problem.dtype, .shape = problem.shape}};
  };
  op.reference = [](const lab::Problem& problem, std::span<const lab::HostTensor> inputs,
                    const lab::EachRow& each_row) {
    return std::vector{softmax_online_backward_reference(inputs[0], inputs[1], axis_of(problem), each_row)};
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
