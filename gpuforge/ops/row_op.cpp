#include "gpuforge/ops/row_op.h"

#include <algorithm>
#include <utility>

namespace gpuforge::ops {

std::int64_t integer_option(const lab::Problem& problem, std::string_view name) {
  const auto found = problem.options.find(name);
  GPUFORGE_ASSERT(found != problem.options.end(), "the problem has no value for {}", name);
  return std::stoll(found->second);
}

bool flag_option(const lab::Problem& problem, std::string_view name) {
  const auto found = problem.options.find(name);
  GPUFORGE_ASSERT(found != problem.options.end(), "the problem has no value for {}", name);
  return found->second == "true";
}

lab::OptionDescription flag_description(std::string name, bool fallback, std::string summary) {
  return {std::move(name), fallback ? "true" : "false", {"true", "false"}, std::move(summary)};
}

void describe_axis(lab::Op& op) {
  op.dtypes = {DType::f16, DType::bf16, DType::f32};
  op.options = {{"dim", "-1", {}, "the axis"}};
  for (const Shape& shape :
       {Shape{}, Shape{0, 5}, Shape{5, 0}, Shape{3, 1}, Shape{2, 255}, Shape{3, 1025}, Shape{1, 9001}}) {
    op.check_problems.push_back({.shape = shape});
  }
  op.check_problems.push_back({.shape = {257, 33}, .options = {{"dim", "0"}}});
  op.check_problems.push_back({.shape = {1023, 5}, .options = {{"dim", "-2"}}});
  op.check_problems.push_back({.shape = {3, 65, 5}, .options = {{"dim", "1"}}});
  op.accepts_strides = true;
}

std::size_t axis_of(const lab::Problem& problem, const char* op) {
  return normalize_axis(integer_option(problem, "dim"), std::max<std::size_t>(problem.shape.size(), 1), op);
}

lab::Operand operand_like(const lab::Problem& problem, std::string name, lab::Role role) {
  return {.name = std::move(name), .role = role, .dtype = problem.dtype, .shape = problem.shape};
}

void describe_choices(lab::Op& op,
                      std::function<RowProblem(const lab::Problem&, std::string_view variant)> rows,
                      std::function<std::vector<std::shared_ptr<const jit::Kernel>>(
                          Context&, const lab::Problem&, std::string_view variant, const RowConfig&)>
                          kernels) {
  op.kernels = [rows, kernels](Context& context, const lab::Problem& problem, std::string_view variant,
                               const Config* config) -> std::vector<std::shared_ptr<const jit::Kernel>> {
    const device::DeviceFacts& facts = context.device().facts();
    if (facts.kind == device::DeviceKind::cpu) return {};
    return kernels(
        context, problem, variant,
        choose_row_config(rows(problem, variant), variant, config, facts, context.tuning()).config);
  };
  op.choose = [rows](const lab::Problem& problem, std::string_view variant, const device::DeviceFacts& facts,
                     const TuningTable& table) -> lab::Choice {
    const RowChoice choice = choose_row_config(rows(problem, variant), variant, nullptr, facts, table);
    return {variant == "naive" ? Config{} : to_config(choice.config), choice.reason.text()};
  };
  op.configs = [rows](const lab::Problem& problem, std::string_view variant,
                      const device::DeviceFacts& facts) {
    std::vector<Config> list;
    if (variant == "naive") return list;
    for (const RowConfig& config : row_configs(rows(problem, variant), facts))
      list.push_back(to_config(config));
    return list;
  };
  op.tuning_key = [rows](const lab::Problem& problem, std::string_view variant) {
    return row_tuning_key(rows(problem, variant), variant);
  };
}

}  // namespace gpuforge::ops
