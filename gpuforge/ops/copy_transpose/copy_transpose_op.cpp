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

TransposeProblem transpose_problem(const lab::Problem& problem) {
  GPUFORGE_CHECK(problem.shape.size() == 2, "copy_transpose: a shape of two extents was expected; found {}",
                 lab::shape_text(problem.shape));
  return {problem.shape[0], problem.shape[1], problem.dtype};
}

TransposeConfig config_of(const lab::Problem& problem, std::string_view variant, const Config* config,
                          const TuningTable& table) {
  if (config != nullptr) return transpose_config(*config);
  return choose_transpose(transpose_problem(problem), variant, tile_size(problem), table).config;
}

std::vector<Config> configs(std::string_view variant) {
  std::vector<Config> list;
  if (variant == "naive") return list;
  for (const int tile : {16, 32}) {
    for (const int rows : {1, 2, 4, 8, 16}) list.push_back(to_config({.tile = tile, .rows = rows}));
  }
  return list;
}

}  // namespace

lab::Op describe_copy_transpose() {
  lab::Op op;
  op.name = "copy_transpose";
  op.summary = "out[j, i] = x[i, j], exactly";
  op.variants = {{"best", "the fastest known for the shape"},
                 {"tiled", "through shared memory, rows on both sides"},
                 {"naive", "one thread an element, writes a row apart"}};
  op.dtypes = {DType::f16, DType::bf16, DType::f32};
  op.options = {{"tile_size", "auto", {"16", "32", "auto"}, "edge of the square a block moves at once"}};
  op.hard_contents = {lab::Contents::zeros, lab::Contents::constant,   lab::Contents::huge,
                      lab::Contents::tiny,  lab::Contents::infinities, lab::Contents::nans};
  for (const Shape& shape :
       {Shape{0, 5}, Shape{5, 0}, Shape{1, 1}, Shape{1, 257}, Shape{255, 1}, Shape{32, 32}, Shape{33, 31},
        Shape{16, 17}, Shape{64, 96}, Shape{3, 1025}, Shape{1023, 5}}) {
    op.check_problems.push_back({.shape = shape});
  }
  op.check_problems.push_back({.shape = {33, 65}, .options = {{"tile_size", "16"}}});
  op.check_problems.push_back({.shape = {33, 65}, .options = {{"tile_size", "32"}}});
  op.accepts_strides = true;

  op.operands = [](const lab::Problem& problem) -> std::vector<lab::Operand> {
    const TransposeProblem p = transpose_problem(problem);
    return {{.name = "out", .role = lab::Role::output, .dtype = p.dtype, .shape = {p.columns, p.rows}},
            {.name = "x", .role = lab::Role::input, .dtype = p.dtype, .shape = {p.rows, p.columns}}};
  };
  op.reference = [](const lab::Problem&, std::span<const lab::HostTensor> inputs) {
    return std::vector{copy_transpose_reference(inputs[0])};
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
    return {transpose_kernel(context, problem.dtype, config_of(problem, variant, config, context.tuning()))};
  };
  op.choose = [](const lab::Problem& problem, std::string_view variant, const device::DeviceFacts&,
                 const TuningTable& table) -> lab::Choice {
    const TransposeChoice choice =
        choose_transpose(transpose_problem(problem), variant, tile_size(problem), table);
    return {to_config(choice.config), choice.reason};
  };
  op.configs = [](const lab::Problem&, std::string_view variant, const device::DeviceFacts&) {
    return configs(variant);
  };
  op.tuning_key = [](const lab::Problem& problem, std::string_view variant) {
    return transpose_tuning_key(transpose_problem(problem), variant);
  };
  return op;
}

}  // namespace gpuforge::ops
