#include <algorithm>

#include "gpuforge/ops/descriptions.h"
#include "gpuforge/ops/elementwise/elementwise.h"
#include "gpuforge/ops/elementwise/elementwise_kernels.h"
#include "gpuforge/ops/elementwise/elementwise_reference.h"
#include "gpuforge/ops/tolerances.h"

namespace gpuforge::ops {
namespace {

const Function& function_of(const lab::Problem& problem) {
  return find_function(problem.options.at("function"));
}

// Every operand of the problem's dtype and shape; with second=row, all but the first are one row, broadcast.
Resolution resolution_of(const lab::Problem& problem) {
  const Function& function = function_of(problem);
  const std::vector<OperandType> types(static_cast<std::size_t>(function.arity), {.dtype = problem.dtype});
  return resolve(function, types);
}

Shape other_shape(const lab::Problem& problem) {
  if (problem.options.at("second") == "same" || problem.shape.empty()) return problem.shape;
  return {problem.shape.back()};
}

// Weights around 3 keep divisors, exponents and logarithms away from 0 without leaving it out.
std::vector<lab::Operand> operands_of(const lab::Problem& problem) {
  const Resolution how = resolution_of(problem);
  std::vector<lab::Operand> list{
      {.name = "out", .role = lab::Role::output, .dtype = how.result, .shape = problem.shape}};
  constexpr std::string_view kNames[] = {"a", "b", "c"};
  for (int i = 0; i < function_of(problem).arity; ++i) {
    list.push_back({.name = std::string(kNames[i]),
                    .role = lab::Role::input,
                    .dtype = problem.dtype,
                    .shape = i == 0 ? problem.shape : other_shape(problem)});
  }
  return list;
}

// As dense arrays; the addresses are of no interest but that they are aligned.
ElementWalk walk_of(const lab::Problem& problem) {
  std::vector<WalkedArray> arrays;
  for (const lab::Operand& operand : operands_of(problem)) {
    arrays.push_back({0, operand.dtype,
                      broadcast_strides(operand.shape, row_major_strides(operand.shape), problem.shape)});
  }
  return make_element_walk(problem.shape, std::move(arrays));
}

ElementwiseChoice choice_of(const lab::Problem& problem, std::string_view variant,
                            const device::DeviceFacts& facts, const TuningTable& table) {
  return choose_elementwise(element_count(problem.shape), resolution_of(problem).result, variant, facts,
                            table);
}

void add(std::vector<lab::Problem>& list, const Shape& shape, std::string_view function,
         std::string second = "same") {
  list.push_back(
      {.shape = shape, .options = {{"function", std::string(function)}, {"second", std::move(second)}}});
}

lab::Op describe(std::string op_name, std::string summary, std::string fallback) {
  lab::Op op;
  op.name = std::move(op_name);
  op.summary = std::move(summary);
  op.variants = {{"best", "vectors of 16 bytes where the views allow them"},
                 {"naive", "one element a thread"}};
  op.options = {{"function", std::move(fallback), {}, "of the table of element functions"},
                {"second", "same", {"same", "row"}, "what the other operands are: alike, or one row"}};
  op.hard_contents = {lab::Contents::zeros, lab::Contents::huge, lab::Contents::tiny,
                      lab::Contents::infinities, lab::Contents::nans};
  op.accepts_strides = true;
  op.operands = operands_of;
  op.reference = [](const lab::Problem& problem, std::span<const lab::HostTensor> inputs,
                    const lab::EachRow& each_row) {
    return std::vector{elementwise_reference(resolution_of(problem), problem.shape, inputs, each_row)};
  };
  op.tolerance = [](const lab::Problem& problem, std::size_t) {
    return elementwise_tolerance(function_of(problem).name, resolution_of(problem).result);
  };
  op.cost = [](const lab::Problem& problem) {
    lab::Cost cost;
    for (const lab::Operand& operand : operands_of(problem)) {
      const double bytes = static_cast<double>(element_count(operand.shape)) *
                           static_cast<double>(element_bytes(operand.dtype));
      (operand.role == lab::Role::output ? cost.bytes_written : cost.bytes_read) += bytes;
    }
    cost.flops = static_cast<double>(element_count(problem.shape));
    return cost;
  };
  op.run = [](const lab::Call& call) {
    const std::vector<Operand> inputs(call.operands.begin() + 1, call.operands.end());
    apply(function_of(call.problem), inputs,
          {.out = &call.operands[0], .variant = call.variant, .config = call.config}, call.stream);
  };
  op.kernels = [](Context& context, const lab::Problem& problem, std::string_view variant,
                  const Config* config) -> std::vector<std::shared_ptr<const jit::Kernel>> {
    if (context.device().facts().kind == device::DeviceKind::cpu || element_count(problem.shape) == 0)
      return {};
    const ElementwiseConfig chosen =
        config != nullptr ? elementwise_config(variant, *config)
                          : choice_of(problem, variant, context.device().facts(), context.tuning()).config;
    const ElementWalk walk = walk_of(problem);
    std::vector<KernelInput> inputs;
    for (std::size_t i = 1; i < walk.arrays.size(); ++i) inputs.push_back({.array = i});
    return {
        elementwise_kernel(context, resolution_of(problem), walk, inputs, plan_elementwise(walk, chosen))};
  };
  op.choose = [](const lab::Problem& problem, std::string_view variant, const device::DeviceFacts& facts,
                 const TuningTable& table) -> lab::Choice {
    const ElementwiseChoice choice = choice_of(problem, variant, facts, table);
    return {variant == "best" ? to_config(choice.config) : Config{}, choice.reason.text()};
  };
  op.configs = [](const lab::Problem&, std::string_view variant, const device::DeviceFacts&) {
    return variant == "best" ? elementwise_configs() : std::vector<Config>{};
  };
  op.tuning_key = [](const lab::Problem& problem, std::string_view variant) {
    return elementwise_tuning_key(element_count(problem.shape), resolution_of(problem).result, variant);
  };
  return op;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Function& function : functions()) names.emplace_back(function.name);
  return names;
}

}  // namespace

lab::Op describe_elementwise() {
  lab::Op op =
      describe("elementwise", "one function of elements, of a table of them: add, exp, where, ..", "add");
  op.options[0].values = all_names();
  op.dtypes = {DType::f32, DType::f16, DType::bf16};
  // A few of every kind; `check gelu` goes through one of them by name.
  add(op.check_problems, {0, 3}, "add");
  add(op.check_problems, {31, 33}, "add");
  add(op.check_problems, {17, 64}, "mul", "row");
  add(op.check_problems, {1025}, "gelu");
  add(op.check_problems, {3, 5, 77}, "where");
  add(op.check_problems, {262147}, "add");
  return op;
}

lab::Op describe_element_function(const Function& function) {
  lab::Op op =
      describe(std::string(function.name), std::string(function.summary), std::string(function.name));
  op.options[0].values = {std::string(function.name)};
  for (const DType dtype : kAllDTypes) {
    try {
      const std::vector<OperandType> types(static_cast<std::size_t>(function.arity), {.dtype = dtype});
      resolve(function, types);
      op.dtypes.push_back(dtype);
    } catch (const Error&) {
      // Not one of the function's.
    }
  }
  // f32 first: what is taken when none is named.
  std::stable_partition(op.dtypes.begin(), op.dtypes.end(), [](DType dtype) { return dtype == DType::f32; });
  add(op.check_problems, {}, function.name);
  add(op.check_problems, {3, 0}, function.name);
  add(op.check_problems, {31, 33}, function.name);
  if (function.arity > 1) add(op.check_problems, {17, 64}, function.name, "row");
  add(op.check_problems, {65537}, function.name);
  return op;
}

}  // namespace gpuforge::ops
