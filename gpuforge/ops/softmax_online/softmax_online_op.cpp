#include "gpuforge/ops/descriptions.h"
#include "gpuforge/ops/row_op.h"
#include "gpuforge/ops/softmax_online/softmax_online.h"
#include "gpuforge/ops/softmax_online/softmax_online_kernels.h"
#include "gpuforge/ops/softmax_online/softmax_online_reference.h"
#include "gpuforge/ops/tolerances.h"

namespace gpuforge::ops {
namespace {

RowProblem row_problem_of(const lab::Problem& problem, std::string_view variant) {
  const Strides strides = row_major_strides(problem.shape);
  return softmax_problem(softmax_rows(problem.shape, strides, strides, integer_option(problem, "dim")),
                         problem.dtype, variant, 0, 0);
}

}  // namespace

lab::Op describe_softmax_online() {
  lab::Op op;
  op.name = "softmax_online";
  op.summary = "out = exp(x) / sum(exp(x)) along an axis";
  op.variants = {{"best", "the row read once and held in registers where it fits"},
                 {"online", "maximum and sum in one pass over memory, results in a second"},
                 {"safe", "three passes over memory by a group of threads a row"},
                 {"naive", "three passes over memory by one thread a row"}};
  describe_axis(op);
  op.hard_contents = {lab::Contents::zeros, lab::Contents::constant,   lab::Contents::huge,
                      lab::Contents::tiny,  lab::Contents::infinities, lab::Contents::nans};
  op.operands = [](const lab::Problem& problem) -> std::vector<lab::Operand> {
    axis_of(problem, "softmax_online");
    return {operand_like(problem, "out", lab::Role::output), operand_like(problem, "x", lab::Role::input)};
  };
  op.reference = [](const lab::Problem& problem, std::span<const lab::HostTensor> inputs,
                    const lab::EachRow& each_row) {
    return std::vector{softmax_online_reference(inputs[0], axis_of(problem, "softmax_online"), each_row)};
  };
  op.tolerance = [](const lab::Problem& problem, std::size_t) {
    return tolerance("softmax_online", problem.dtype);
  };
  op.cost = [](const lab::Problem& problem) -> lab::Cost {
    const auto count = static_cast<double>(element_count(problem.shape));
    const double bytes = count * static_cast<double>(element_bytes(problem.dtype));
    return {.bytes_read = bytes,
            .bytes_written = bytes,
            .flops = 5 * count};  // max, subtract, exp, add, multiply
  };
  op.run = [](const lab::Call& call) {
    softmax_online(
        call.operands[0], call.operands[1],
        {.dim = integer_option(call.problem, "dim"), .variant = call.variant, .config = call.config},
        call.stream);
  };
  describe_choices(op, row_problem_of,
                   [](Context& context, const lab::Problem& problem, std::string_view variant,
                      const RowConfig& config) -> std::vector<std::shared_ptr<const jit::Kernel>> {
                     return {softmax_kernel(context, variant, problem.dtype, config)};
                   });
  return op;
}

}  // namespace gpuforge::ops
