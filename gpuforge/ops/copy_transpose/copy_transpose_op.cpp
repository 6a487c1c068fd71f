#include <utility>

#include "gpuforge/array/array_kernels.h"
#include "gpuforge/ops/copy_transpose/copy_transpose.h"
#include "gpuforge/ops/copy_transpose/copy_transpose_kernels.h"
#include "gpuforge/ops/copy_transpose/copy_transpose_reference.h"
#include "gpuforge/ops/descriptions.h"
#include "gpuforge/ops/tolerances.h"

namespace gpuforge::ops {
namespace {

int tile_size(const lab::Problem& problem) {
  const std::string& text = problem.options.at("tile_size");
  return text == "auto" ? 0 : std::stoi(text);
}

TransposeProblem problem_of(const lab::Problem& problem) {
  return transpose_problem(problem.shape, problem.dtype);
}

// Of arrays without gaps, which begin where allocations do.
std::shared_ptr<const jit::Kernel> kernel_of(Context& context, const lab::Problem& problem,
                                             const TransposeConfig& config) {
  const Shape out_shape = transposed_shape(problem.shape);
  const Strides x = row_major_strides(problem.shape), out = row_major_strides(out_shape);
  const TransposePlan plan = plan_transpose(problem.shape, x, out, config.tile == 0);
  if (!plan.straight)
    return transpose_kernel(context, plan, problem.dtype, fitted(plan, 0, 0, problem.dtype, config));
  Strides from = x;
  std::swap(from[from.size() - 1], from[from.size() - 2]);
  const bool dense = make_walk(out_shape, out, from).dense();
  return context.jit().embedded_kernel(copy_kernel_id(problem.dtype, problem.dtype, !dense),
                                       context.device());
}

}  // namespace

lab::Op describe_copy_transpose() {
  lab::Op op;
  op.name = "copy_transpose";
  op.summary = "the last two axes exchanged: out[j, i] = x[i, j], exactly";
  op.variants = {{"best", "the fastest known for the shape"},
                 {"tiled", "through shared memory, rows on both sides"},
                 {"naive", "one thread an element, writes a row apart"}};
  op.dtypes = {DType::f16, DType::bf16, DType::f32};
  op.options = {{"tile_size", "auto", {"16", "32", "auto"}, "edge of the square a block moves at once"}};
  op.hard_contents = {lab::Contents::zeros, lab::Contents::constant,   lab::Contents::huge,
                      lab::Contents::tiny,  lab::Contents::infinities, lab::Contents::nans};
  for (const Shape& shape :
       {Shape{0, 5}, Shape{5, 0}, Shape{1, 1}, Shape{1, 257}, Shape{255, 1}, Shape{32, 32}, Shape{33, 31},
        Shape{16, 17}, Shape{68, 132}, Shape{72, 136}, Shape{3, 1025}, Shape{1023, 5}, Shape{3, 12, 20},
        Shape{2, 3, 7, 65}, Shape{2, 262144}, Shape{520, 1160}, Shape{515, 1151}}) {
    op.check_problems.push_back({.shape = shape});
  }
  op.check_problems.push_back({.shape = {33, 65}, .options = {{"tile_size", "16"}}});
  op.check_problems.push_back({.shape = {33, 65}, .options = {{"tile_size", "32"}}});
  op.accepts_strides = true;

  op.operands = [](const lab::Problem& problem) -> std::vector<lab::Operand> {
    const Shape out = transposed_shape(problem.shape);
    return {{.name = "out", .role = lab::Role::output, .dtype = problem.dtype, .shape = out},
            {.name = "x", .role = lab::Role::input, .dtype = problem.dtype, .shape = problem.shape}};
  };
  op.reference = [](const lab::Problem&, std::span<const lab::HostTensor> inputs,
                    const lab::EachRow& each_row) {
    return std::vector{copy_transpose_reference(inputs[0], each_row)};
  };
  op.tolerance = [](const lab::Problem& problem, std::size_t) {
    return tolerance("copy_transpose", problem.dtype);
  };
  op.cost = [](const lab::Problem& problem) -> lab::Cost {
    const double bytes =
        static_cast<double>(element_count(problem.shape)) * static_cast<double>(element_bytes(problem.dtype));
    return {.bytes_read = bytes, .bytes_written = bytes};
  };
  op.run = [](const lab::Call& call) {
    copy_transpose(call.operands[0], call.operands[1],
                   {.tile_size = tile_size(call.problem), .variant = call.variant, .config = call.config},
                   call.stream);
  };
  op.kernels = [](Context& context, const lab::Problem& problem, std::string_view variant,
                  const Config* config) -> std::vector<std::shared_ptr<const jit::Kernel>> {
    if (context.device().facts().kind == device::DeviceKind::cpu) return {};
    const TransposeConfig chosen = config != nullptr
                                       ? transpose_config(variant, *config, problem.dtype)
                                       : choose_transpose(problem_of(problem), variant, tile_size(problem),
                                                          context.device().facts(), context.tuning())
                                             .config;
    return {kernel_of(context, problem, chosen)};
  };
  op.choose = [](const lab::Problem& problem, std::string_view variant, const device::DeviceFacts& facts,
                 const TuningTable& table) -> lab::Choice {
    const TransposeChoice choice =
        choose_transpose(problem_of(problem), variant, tile_size(problem), facts, table);
    return {to_config(choice.config), choice.reason.text()};
  };
  op.configs = [](const lab::Problem& problem, std::string_view variant, const device::DeviceFacts&) {
    return transpose_configs(problem_of(problem), variant);
  };
  op.tuning_key = [](const lab::Problem& problem, std::string_view variant) {
    return transpose_tuning_key(problem_of(problem), variant);
  };
  return op;
}

}  // namespace gpuforge::ops
