#include "gpuforge/ops/descriptions.h"
#include "gpuforge/ops/matmul/matmul.h"
#include "gpuforge/ops/matmul/matmul_kernels.h"
#include "gpuforge/ops/matmul/matmul_reference.h"
#include "gpuforge/ops/tolerances.h"

namespace gpuforge::ops {
namespace {

// The problem's shape is that of a; b has as many rows as a has columns, and n columns.
struct Shapes {
  Shape a, b, out;
  MatmulSize size;
};
Shapes shapes_of(const lab::Problem& problem) {
  GPUFORGE_CHECK(problem.shape.size() >= 2, "matmul: the shape is that of a, with two axes or more; found {}",
                 to_string(problem.shape));
  const std::int64_t k = problem.shape.back();
  const std::int64_t asked = std::stoll(problem.options.at("n"));
  GPUFORGE_CHECK(asked >= -1, "matmul: n is a number of columns, or -1 for as many as a has; found {}",
                 asked);
  // 256 unless asked: the reference of a square of 4096 takes a minute.
  Shapes shapes{problem.shape, {k, asked == -1 ? k : asked}, {}, {}};
  shapes.out = matmul_shape(shapes.a, shapes.b);
  shapes.size = {problem.shape[problem.shape.size() - 2], shapes.b[1], k, 1};
  for (std::size_t d = 0; d + 2 < problem.shape.size(); ++d) shapes.size.batches *= problem.shape[d];
  return shapes;
}

void add(std::vector<lab::Problem>& list, const Shape& shape, std::string n) {
  list.push_back({.shape = shape, .options = {{"n", std::move(n)}}});
}

}  // namespace

lab::Op describe_matmul() {
  lab::Op op;
  op.name = "matmul";
  op.summary = "a @ b, batches of a by one b";
  op.variants = {{"best", "tiles in shared memory"}, {"naive", "one thread an element"}};
  op.dtypes = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::f8e4m3, DType::i32, DType::i8};
  op.options = {{"n", "256", {}, "columns of b; -1: as many as a has"}};
  op.hard_contents = {lab::Contents::zeros, lab::Contents::constant, lab::Contents::nans};
  add(op.check_problems, {0, 4}, "3");
  add(op.check_problems, {3, 0}, "5");
  add(op.check_problems, {1, 1}, "1");
  add(op.check_problems, {33, 65}, "17");
  add(op.check_problems, {2, 3, 70}, "130");
  add(op.check_problems, {257, 129}, "65");
  op.accepts_strides = true;
  op.operands = [](const lab::Problem& problem) -> std::vector<lab::Operand> {
    const Shapes shapes = shapes_of(problem);
    return {{.name = "out", .role = lab::Role::output, .dtype = problem.dtype, .shape = shapes.out},
            {.name = "a", .role = lab::Role::input, .dtype = problem.dtype, .shape = shapes.a},
            {.name = "b", .role = lab::Role::input, .dtype = problem.dtype, .shape = shapes.b}};
  };
  op.reference = [](const lab::Problem& problem, std::span<const lab::HostTensor> inputs,
                    const lab::EachRow& each_row) {
    return std::vector{matmul_reference(inputs[0], inputs[1], problem.dtype, each_row)};
  };
  op.tolerance = [](const lab::Problem& problem, std::size_t) {
    if (!is_floating(problem.dtype)) return tolerance("matmul of integers", problem.dtype);
    const double roundings = static_cast<double>(problem.shape.back()) + 1;
    return tolerance("matmul", problem.dtype, problem.dtype == DType::f64 ? roundings * 0x1p-29 : roundings);
  };
  op.cost = [](const lab::Problem& problem) -> lab::Cost {
    const Shapes shapes = shapes_of(problem);
    const auto bytes = static_cast<double>(element_bytes(problem.dtype));
    const auto count = [](const Shape& shape) { return static_cast<double>(element_count(shape)); };
    return {.bytes_read = (count(shapes.a) + count(shapes.b)) * bytes,
            .bytes_written = count(shapes.out) * bytes,
            .flops = 2 * count(shapes.out) * static_cast<double>(shapes.size.k)};
  };
  op.run = [](const lab::Call& call) {
    matmul(call.operands[1], call.operands[2],
           {.out = &call.operands[0], .variant = call.variant, .config = call.config}, call.stream);
  };
  op.kernels = [](Context& context, const lab::Problem& problem, std::string_view variant,
                  const Config* config) -> std::vector<std::shared_ptr<const jit::Kernel>> {
    const device::DeviceFacts& facts = context.device().facts();
    if (facts.kind == device::DeviceKind::cpu) return {};
    return {matmul_kernel(context, problem.dtype,
                          config != nullptr ? matmul_config(variant, problem.dtype, *config)
                                            : choose_matmul(shapes_of(problem).size, problem.dtype, variant,
                                                            facts, context.tuning())
                                                  .config)};
  };
  op.choose = [](const lab::Problem& problem, std::string_view variant, const device::DeviceFacts& facts,
                 const TuningTable& table) -> lab::Choice {
    const MatmulChoice choice = choose_matmul(shapes_of(problem).size, problem.dtype, variant, facts, table);
    return {choice.config.naive ? Config{} : to_config(choice.config), choice.reason.text()};
  };
  op.configs = [](const lab::Problem& problem, std::string_view variant, const device::DeviceFacts&) {
    return variant == "best" ? matmul_configs(problem.dtype) : std::vector<Config>{};
  };
  op.tuning_key = [](const lab::Problem& problem, std::string_view variant) {
    return matmul_tuning_key(shapes_of(problem).size, problem.dtype, variant);
  };
  return op;
}

}  // namespace gpuforge::ops
