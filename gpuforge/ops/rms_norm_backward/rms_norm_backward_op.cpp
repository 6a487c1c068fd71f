#include "gpuforge/ops/descriptions.h"
#include "gpuforge/ops/rms_norm_backward/rms_norm_backward.h"
#include "gpuforge/ops/rms_norm_backward/rms_norm_backward_kernels.h"
#include "gpuforge/ops/rms_norm_backward/rms_norm_backward_reference.h"
#include "gpuforge/ops/row_op.h"
#include "gpuforge/ops/tolerances.h"

namespace gpuforge::ops {
namespace {

RowProblem row_problem_of(const lab::Problem& problem, std::string_view variant) {
  const device::Address addresses[kRmsArrays] = {};
  return rms_backward_problem(rms_backward_rows(problem.shape), problem.dtype, variant,
                              flag_option(problem, "weight"), addresses);
}

std::vector<lab::Operand> operands(const lab::Problem& problem) {
  row_problem_of(problem, "best");  // refuses what has no rows
  const Shape last{problem.shape.back()};
  const bool weight = flag_option(problem, "weight");
  std::vector<lab::Operand> list{
      {.name = "dx", .role = lab::Role::output, .dtype = problem.dtype, .shape = problem.shape}};
  if (weight)
    list.push_back({.name = "dweight", .role = lab::Role::output, .dtype = problem.dtype, .shape = last});
  list.push_back({.name = "dy", .role = lab::Role::input, .dtype = problem.dtype, .shape = problem.shape});
  list.push_back({.name = "x", .role = lab::Role::input, .dtype = problem.dtype, .shape = problem.shape});
  if (weight)
    list.push_back(
        {.name = "weight", .role = lab::Role::input, .dtype = problem.dtype, .shape = last, .centre = 1});
  return list;
}

std::vector<lab::Expected> reference(const lab::Problem& problem, std::span<const lab::HostTensor> inputs,
                                     const lab::EachRow& each_row) {
  return rms_norm_backward_reference(inputs[0], inputs[1],
                                     flag_option(problem, "weight") ? &inputs[2] : nullptr,
                                     RmsNormBackwardOptions{}.eps, each_row);
}

void run(const lab::Call& call) {
  const RmsNormBackwardOptions options{.variant = call.variant, .config = call.config};
  const std::span<Array> all = call.operands;
  if (flag_option(call.problem, "weight")) {
    rms_norm_backward(all[0], &all[1], all[2], all[3], &all[4], options, call.stream);
  } else {
    rms_norm_backward(all[0], nullptr, all[1], all[2], nullptr, options, call.stream);
  }
}

}  // namespace

lab::Op describe_rms_norm_backward() {
  lab::Op op;
  op.name = "rms_norm_backward";
  op.summary = "dx and dweight of rms_norm";
  op.variants = {{"best", "both rows read once and held in registers where they fit; dweight in pieces"},
                 {"naive", "two passes over memory by one thread a row; dweight in one piece"}};
  op.dtypes = {DType::f16, DType::bf16, DType::f32};
  op.options = {flag_description("weight", true, "a factor [N], and its gradient")};
  op.hard_contents = {lab::Contents::zeros, lab::Contents::constant, lab::Contents::tiny,
                      lab::Contents::infinities, lab::Contents::nans};
  for (const Shape& shape :
       {Shape{1}, Shape{0, 5}, Shape{5, 0}, Shape{5, 257}, Shape{70, 33}, Shape{1, 9001}}) {
    op.check_problems.push_back({.shape = shape});
  }
  op.check_problems.push_back({.shape = {3, 1023}, .options = {{"weight", "false"}}});
  op.check_problems.push_back({.shape = {2, 3, 255}});
  op.accepts_strides = true;
  op.operands = operands;
  op.reference = reference;
  op.tolerance = [](const lab::Problem& problem, std::size_t) {
    return tolerance("rms_norm_backward", problem.dtype);
  };
  op.cost = [](const lab::Problem& problem) -> lab::Cost {
    const auto count = static_cast<double>(element_count(problem.shape));
    const auto bytes = static_cast<double>(element_bytes(problem.dtype));
    const double row = flag_option(problem, "weight") ? static_cast<double>(problem.shape.back()) * bytes : 0;
    return {.bytes_read = 2 * count * bytes + row,
            .bytes_written = count * bytes + row,
            .flops = (row > 0 ? 13 : 10) * count};
  };
  op.run = run;
  describe_choices(
      op, row_problem_of,
      [](Context& context, const lab::Problem& problem, std::string_view variant, const RowConfig& config) {
        return rms_backward_kernels(context, variant, problem.dtype, config, flag_option(problem, "weight"));
      });
  return op;
}

}  // namespace gpuforge::ops
