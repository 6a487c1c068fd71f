#include "gpuforge/ops/descriptions.h"
#include "gpuforge/ops/reduce_sum/reduce_sum.h"
#include "gpuforge/ops/reduce_sum/reduce_sum_kernels.h"
#include "gpuforge/ops/reduce_sum/reduce_sum_reference.h"
#include "gpuforge/ops/tolerances.h"

namespace gpuforge::ops {
namespace {

std::int64_t dim_of(const lab::Problem& problem) {
  return std::stoll(problem.options.at("dim"));
}

Shape out_shape(const lab::Problem& problem) {
  return reduced_shape("reduce_sum", problem.shape, dim_of(problem), ReduceOp::sum, false);
}

std::size_t axis_of(const lab::Problem& problem) {
  out_shape(problem);  // refuses what has no such axis
  return normalize_axis(dim_of(problem), problem.shape.size(), "reduce_sum");
}

// Of arrays without gaps.
Rows rows_of(const lab::Problem& problem) {
  return reduce_rows(problem.shape, row_major_strides(problem.shape), row_major_strides(out_shape(problem)),
                     axis_of(problem));
}

std::vector<lab::Problem> check_problems() {
  std::vector<lab::Problem> list;
  const auto add = [&](const Shape& shape, std::string dim) {
    list.push_back({.shape = shape, .options = {{"dim", std::move(dim)}}});
  };
  add({3, 0}, "1");
  add({0, 3}, "1");
  add({1, 1}, "-1");
  // Tried with every content and placement.
  add({5, 257}, "-1");
  add({7, 4, 5}, "-2");
  // Every axis, lengths around powers of two, rows by the thousand and by the one.
  for (const char* const dim : {"0", "1", "2"}) add({9, 16, 33}, dim);
  add({17, 255}, "-1");
  add({5, 1023}, "1");
  add({5, 1025}, "1");
  add({1, 262144}, "-1");
  add({16385, 3}, "0");
  return list;
}

}  // namespace

lab::Op describe_reduce_sum() {
  lab::Op op;
  op.name = "reduce_sum";
  op.summary = "the sum over one axis, from naive to fast";
  op.variants = {{"best", "the fastest known for the shape"},
                 {"shuffle", "a block a row, added up in registers by warp shuffles"},
                 {"improved", "a block a row, added up by a tree in shared memory"},
                 {"naive", "one thread a row"}};
  op.dtypes = {DType::f16, DType::bf16, DType::f32};
  op.options = {{"dim", "-1", {}, "the axis that goes away, from the back when negative"}};
  // Not huge: floats that overflow in a sum depend on the order.
  op.hard_contents = {lab::Contents::zeros, lab::Contents::constant, lab::Contents::tiny,
                      lab::Contents::infinities, lab::Contents::nans};
  op.check_problems = check_problems();
  op.accepts_strides = true;

  op.operands = [](const lab::Problem& problem) -> std::vector<lab::Operand> {
    return {{.name = "out", .role = lab::Role::output, .dtype = problem.dtype, .shape = out_shape(problem)},
            {.name = "x", .role = lab::Role::input, .dtype = problem.dtype, .shape = problem.shape}};
  };
  op.reference = [](const lab::Problem& problem, std::span<const lab::HostTensor> inputs,
                    const lab::EachRow& each_row) {
    return std::vector{reduce_sum_reference(inputs[0], axis_of(problem), each_row)};
  };
  op.tolerance = [](const lab::Problem& problem, std::size_t) {
    return tolerance("reduce_sum", problem.dtype, sum_roundings(problem.shape[axis_of(problem)]));
  };
  op.cost = [](const lab::Problem& problem) -> lab::Cost {
    const double elements = static_cast<double>(element_count(problem.shape));
    const double bytes = static_cast<double>(element_bytes(problem.dtype));
    return {.bytes_read = elements * bytes,
            .bytes_written = static_cast<double>(element_count(out_shape(problem))) * bytes,
            .flops = elements};
  };
  op.run = [](const lab::Call& call) {
    reduce_sum(call.operands[0], call.operands[1], dim_of(call.problem),
               {.variant = call.variant, .config = call.config}, call.stream);
  };
  op.kernels = [](Context& context, const lab::Problem& problem, std::string_view variant,
                  const Config* config) -> std::vector<std::shared_ptr<const jit::Kernel>> {
    const device::DeviceFacts& facts = context.device().facts();
    if (facts.kind == device::DeviceKind::cpu) return {};
    const Rows rows = rows_of(problem);
    if (config != nullptr) check_reduce_sum_config(variant, *config);
    const Config chosen =
        config != nullptr
            ? *config
            : choose_reduce_sum(reduce_problem(rows, problem.dtype), variant, facts, context.tuning()).config;
    return reduce_sum_kernels(context, rows, 0, problem.dtype, variant, chosen);
  };
  op.choose = [](const lab::Problem& problem, std::string_view variant, const device::DeviceFacts& facts,
                 const TuningTable& table) -> lab::Choice {
    const ReduceSumChoice choice =
        choose_reduce_sum(reduce_problem(rows_of(problem), problem.dtype), variant, facts, table);
    return {choice.config, choice.reason.text()};
  };
  op.configs = [](const lab::Problem& problem, std::string_view variant, const device::DeviceFacts& facts) {
    return reduce_sum_configs(reduce_problem(rows_of(problem), problem.dtype), variant, facts);
  };
  op.tuning_key = [](const lab::Problem& problem, std::string_view variant) {
    return reduce_tuning_key("reduce_sum", reduce_problem(rows_of(problem), problem.dtype), variant);
  };
  return op;
}

}  // namespace gpuforge::ops
