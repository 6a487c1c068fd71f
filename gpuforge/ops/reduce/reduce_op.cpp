#include "gpuforge/ops/descriptions.h"
#include "gpuforge/ops/reduce/reduce.h"
#include "gpuforge/ops/reduce/reduce_kernels.h"
#include "gpuforge/ops/reduce/reduce_reference.h"
#include "gpuforge/ops/tolerances.h"

namespace gpuforge::ops {
namespace {

struct Asked {
  std::int64_t dim;
  std::size_t axis;
  ReduceOp op;
  Shape out;
};

Asked asked(const lab::Problem& problem) {
  const std::int64_t dim = std::stoll(problem.options.at("dim"));
  const ReduceOp op = parse_reduce_op(problem.options.at("op"));
  const Shape out = reduced_shape("reduce", problem.shape, dim, op, false);
  return {dim, normalize_axis(dim, problem.shape.size(), "reduce"), op, out};
}

// Of arrays without gaps.
Rows rows_of(const lab::Problem& problem) {
  const Asked a = asked(problem);
  return reduce_rows(problem.shape, row_major_strides(problem.shape), row_major_strides(a.out), a.axis);
}

ReduceConfig config_of(const Context& context, const lab::Problem& problem, std::string_view variant,
                       const Config* config) {
  if (config != nullptr) return reduce_config("reduce", variant, *config);
  return choose_reduce("reduce", reduce_problem(rows_of(problem), problem.dtype), variant,
                       context.device().facts(), context.tuning())
      .config;
}

lab::Tolerance tolerance_of(const lab::Problem& problem) {
  const Asked a = asked(problem);
  const std::int64_t length = problem.shape[a.axis];
  switch (a.op) {
    case ReduceOp::sum:
    case ReduceOp::mean:
      return tolerance("reduce sum", problem.dtype, sum_roundings(length));
    case ReduceOp::prod:
      return tolerance("reduce prod", problem.dtype, static_cast<double>(length));
    case ReduceOp::amax:
    case ReduceOp::amin:
      return tolerance("reduce amax", problem.dtype);
  }
  throw Error(ErrorCode::internal, "reduce: not a value of the operation enumeration");
}

std::vector<lab::Problem> check_problems() {
  std::vector<lab::Problem> list;
  const auto add = [&](const Shape& shape, std::string dim, std::string op) {
    list.push_back({.shape = shape, .options = {{"dim", std::move(dim)}, {"op", std::move(op)}}});
  };
  for (const char* const op : {"sum", "prod", "mean"}) add({3, 0}, "1", op);
  add({0, 5}, "-1", "amax");
  // Small ones, which are tried with every content and placement.
  add({1}, "0", "sum");
  add({3, 1023}, "-1", "sum");
  add({4, 19, 8}, "1", "amax");
  add({31, 33}, "-2", "prod");
  add({65, 5}, "0", "mean");
  // Every axis, lengths around powers of two, rows by the thousand and by the one.
  for (const char* const dim : {"0", "1", "2", "3"}) add({3, 9, 16, 11}, dim, "sum");
  add({4097}, "0", "amin");
  add({33, 255}, "-1", "min");
  add({33, 257}, "-1", "max");
  add({5, 1025}, "1", "mean");
  add({2053, 2}, "-1", "prod");
  add({1023, 5}, "0", "sum");
  add({1, 262144}, "-1", "sum");
  add({262144}, "-1", "amax");
  add({16385, 3}, "0", "mean");
  return list;
}

}  // namespace

lab::Op describe_reduce() {
  lab::Op op;
  op.name = "reduce";
  op.summary = "sum, amax, amin, prod or mean over one axis";
  op.variants = {{"best", "the fastest known for the shape"}, {"naive", "one thread a row"}};
  op.dtypes = {DType::f16, DType::bf16, DType::f32};
  op.options = {
      {"dim", "-1", {}, "the axis that goes away, from the back when negative"},
      {"op", "sum", {"sum", "amax", "amin", "prod", "mean", "max", "min"}, "what is made of its elements"}};
  // Not huge: floats that overflow in a sum depend on the order.
  op.hard_contents = {lab::Contents::zeros, lab::Contents::constant, lab::Contents::tiny,
                      lab::Contents::infinities, lab::Contents::nans};
  op.check_problems = check_problems();
  op.accepts_strides = true;

  op.operands = [](const lab::Problem& problem) -> std::vector<lab::Operand> {
    return {{.name = "out", .role = lab::Role::output, .dtype = problem.dtype, .shape = asked(problem).out},
            {.name = "x", .role = lab::Role::input, .dtype = problem.dtype, .shape = problem.shape}};
  };
  op.reference = [](const lab::Problem& problem, std::span<const lab::HostTensor> inputs,
                    const lab::EachRow& each_row) {
    const Asked a = asked(problem);
    return std::vector{reduce_reference(inputs[0], a.axis, a.op, each_row)};
  };
  op.tolerance = [](const lab::Problem& problem, std::size_t) { return tolerance_of(problem); };
  op.cost = [](const lab::Problem& problem) -> lab::Cost {
    const double elements = static_cast<double>(element_count(problem.shape));
    const double bytes = static_cast<double>(element_bytes(problem.dtype));
    return {.bytes_read = elements * bytes,
            .bytes_written = static_cast<double>(element_count(asked(problem).out)) * bytes,
            .flops = elements};
  };
  op.run = [](const lab::Call& call) {
    const Asked a = asked(call.problem);
    reduce(call.operands[0], call.operands[1], a.dim, a.op, {.variant = call.variant, .config = call.config},
           call.stream);
  };
  op.kernels = [](Context& context, const lab::Problem& problem, std::string_view variant,
                  const Config* config) -> std::vector<std::shared_ptr<const jit::Kernel>> {
    if (context.device().facts().kind == device::DeviceKind::cpu) return {};
    const ReduceConfig used = config_of(context, problem, variant, config);
    return reduce_kernels(context, plan_reduce(rows_of(problem), 0, problem.dtype, used), problem.dtype,
                          asked(problem).op, used);
  };
  op.choose = [](const lab::Problem& problem, std::string_view variant, const device::DeviceFacts& facts,
                 const TuningTable& table) -> lab::Choice {
    const ReduceChoice choice =
        choose_reduce("reduce", reduce_problem(rows_of(problem), problem.dtype), variant, facts, table);
    return {to_config(choice.config), choice.reason.text()};
  };
  op.configs = [](const lab::Problem& problem, std::string_view variant, const device::DeviceFacts& facts) {
    if (variant != "best") return std::vector<Config>{};
    return reduce_configs(reduce_problem(rows_of(problem), problem.dtype), facts);
  };
  op.tuning_key = [](const lab::Problem& problem, std::string_view variant) {
    return reduce_tuning_key("reduce", reduce_problem(rows_of(problem), problem.dtype), variant);
  };
  return op;
}

}  // namespace gpuforge::ops
