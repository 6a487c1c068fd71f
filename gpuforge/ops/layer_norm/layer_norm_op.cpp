#include "gpuforge/ops/descriptions.h"
#include "gpuforge/ops/layer_norm/layer_norm.h"
#include "gpuforge/ops/layer_norm/layer_norm_kernels.h"
#include "gpuforge/ops/layer_norm/layer_norm_reference.h"
#include "gpuforge/ops/row_op.h"
#include "gpuforge/ops/tolerances.h"

namespace gpuforge::ops {
namespace {

RowProblem row_problem_of(const lab::Problem& problem, std::string_view variant) {
  return norm_problem("layer_norm", problem.shape, problem.dtype, flag_option(problem, "residual"), variant);
}

std::vector<lab::Operand> operands(const lab::Problem& problem) {
  row_problem_of(problem, "best");  // refuses what has no rows
  const Shape last{problem.shape.back()};
  const bool residual = flag_option(problem, "residual");
  std::vector<lab::Operand> list{
      {.name = "out", .role = lab::Role::output, .dtype = problem.dtype, .shape = problem.shape}};
  if (residual)
    list.push_back(
        {.name = "residual_out", .role = lab::Role::output, .dtype = problem.dtype, .shape = problem.shape});
  list.push_back({.name = "x", .role = lab::Role::input, .dtype = problem.dtype, .shape = problem.shape});
  if (flag_option(problem, "weight"))
    list.push_back(
        {.name = "weight", .role = lab::Role::input, .dtype = problem.dtype, .shape = last, .centre = 1});
  if (flag_option(problem, "bias"))
    list.push_back({.name = "bias", .role = lab::Role::input, .dtype = problem.dtype, .shape = last});
  if (residual)
    list.push_back(
        {.name = "residual", .role = lab::Role::input, .dtype = problem.dtype, .shape = problem.shape});
  return list;
}

std::vector<lab::Expected> reference(const lab::Problem& problem, std::span<const lab::HostTensor> inputs,
                                     const lab::EachRow& each_row) {
  Optionals next(problem, inputs.subspan(1));
  const lab::HostTensor* const weight = next("weight");
  const lab::HostTensor* const bias = next("bias");
  const lab::HostTensor* const residual = next("residual");
  return layer_norm_reference(inputs[0], weight, bias, residual, LayerNormOptions{}.eps, problem.dtype,
                              each_row);
}

lab::Cost cost_of(const lab::Problem& problem) {
  const auto count = static_cast<double>(element_count(problem.shape));
  const auto bytes = static_cast<double>(element_bytes(problem.dtype));
  const double row = static_cast<double>(problem.shape.back()) * bytes;
  const double arrays = flag_option(problem, "residual") ? 2 : 1;
  lab::Cost cost{
      .bytes_read = arrays * count * bytes, .bytes_written = arrays * count * bytes, .flops = 8 * count};
  if (flag_option(problem, "weight")) cost.bytes_read += row;
  if (flag_option(problem, "bias")) cost.bytes_read += row;
  return cost;
}

void run(const lab::Call& call) {
  const bool residual = flag_option(call.problem, "residual");
  const std::size_t x = residual ? 2 : 1;
  Optionals next(call.problem, call.operands.subspan(x + 1));
  const Array* const weight = next("weight");
  const Array* const bias = next("bias");
  const Array* const added = next("residual");
  std::optional<Residual> stream_of_sums;
  if (residual) stream_of_sums.emplace(call.operands[1], *added);
  layer_norm(call.operands[0], call.operands[x], weight, bias, stream_of_sums,
             {.variant = call.variant, .config = call.config}, call.stream);
}

}  // namespace

lab::Op describe_layer_norm() {
  lab::Op op;
  op.name = "layer_norm";
  op.summary = "out = (x - mean) / sqrt(variance + eps) * weight + bias over the last axis";
  op.variants = {{"best", "the row read once and held in registers where it fits"},
                 {"naive", "three passes over memory by one thread a row"}};
  op.dtypes = {DType::f16, DType::bf16, DType::f32};
  op.options = {flag_description("weight", true, "a factor [N]"),
                flag_description("bias", true, "an added [N]"),
                flag_description("residual", false, "x + residual is normalised, and written too")};
  op.hard_contents = {lab::Contents::zeros, lab::Contents::constant, lab::Contents::tiny,
                      lab::Contents::infinities, lab::Contents::nans};
  for (const Shape& shape :
       {Shape{1}, Shape{0, 5}, Shape{5, 0}, Shape{5, 257}, Shape{2, 3, 1025}, Shape{1, 9001}}) {
    op.check_problems.push_back({.shape = shape});
  }
  op.check_problems.push_back({.shape = {3, 255}, .options = {{"weight", "false"}, {"bias", "false"}}});
  for (const std::int64_t length : {1024, 1027}) {  // kernels are compiled for what there is
    op.check_problems.push_back({.shape = {3, length}, .options = {{"weight", "false"}}});
    op.check_problems.push_back({.shape = {3, length}, .options = {{"bias", "false"}}});
  }
  op.check_problems.push_back({.shape = {3, 1023}, .options = {{"residual", "true"}}});
  op.check_problems.push_back({.shape = {2, 1, 33}, .options = {{"residual", "true"}, {"weight", "false"}}});
  op.accepts_strides = true;
  op.operands = operands;
  op.reference = reference;
  op.tolerance = [](const lab::Problem& problem, std::size_t output) {
    return tolerance(output == 0 ? "layer_norm" : "residual_add", problem.dtype);
  };
  op.cost = cost_of;
  op.run = run;
  describe_choices(op, row_problem_of,
                   [](Context& context, const lab::Problem& problem, std::string_view variant,
                      const RowConfig& config) -> std::vector<std::shared_ptr<const jit::Kernel>> {
                     return {norm_kernel(context, "layer_norm", variant, problem.dtype, config,
                                         {.residual = flag_option(problem, "residual"),
                                          .weight = flag_option(problem, "weight"),
                                          .bias = flag_option(problem, "bias")})};
                   });
  return op;
}

}  // namespace gpuforge::ops
