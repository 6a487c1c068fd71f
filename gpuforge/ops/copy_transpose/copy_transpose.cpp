#include "gpuforge/ops/copy_transpose/copy_transpose.h"

#include <algorithm>
#include <utility>

#include "gpuforge/ops/arguments.h"
#include "gpuforge/ops/copy_transpose/copy_transpose_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::string_view kName = "copy_transpose";
constexpr int kNaiveThreads = 256;  // the naive kernel's launch bound

void check_arguments(const Array& out, const Array& x, const CopyTransposeOptions& options) {
  const Shape expected = transposed_shape(x.shape());
  check_floating(kName, "x", x);
  check_device(kName, "out", out, x);
  check_dtype(kName, "out", out, x.dtype());
  check_shape(kName, "out", out, expected);
  check_output(kName, "out", out, x);
  GPUFORGE_CHECK(options.tile_size == 0 || options.tile_size == 16 || options.tile_size == 32,
                 "{}: tile_size is 16, 32 or 0 (its own choice); found {}", kName, options.tile_size);
}

device::LaunchConfig naive_launch(const TransposePlan& plan, const device::DeviceFacts& facts) {
  const std::int64_t elements = plan.planes.count * plan.matrix.rows * plan.matrix.columns;
  const std::int64_t most = std::int64_t{std::max(facts.multiprocessors, 1)} * 32;
  device::LaunchConfig launch;
  launch.grid.x = static_cast<std::uint32_t>(std::min((elements + kNaiveThreads - 1) / kNaiveThreads, most));
  launch.block.x = kNaiveThreads;
  return launch;
}

Array transposed_view(const Array& x) {
  Dims permutation;
  for (std::size_t d = 0; d < x.rank(); ++d) permutation.push_back(static_cast<std::int64_t>(d));
  std::swap(permutation[x.rank() - 1], permutation[x.rank() - 2]);
  return x.transpose(permutation);
}

}  // namespace

Shape transposed_shape(const Shape& x_shape) {
  GPUFORGE_CHECK(x_shape.size() >= 2, "{}: x must have two axes or more; found shape {}", kName,
                 to_string(x_shape));
  Shape shape = x_shape;
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

TransposeProblem transpose_problem(const Shape& x_shape, DType dtype) {
  const Shape out = transposed_shape(x_shape);
  TransposeProblem problem{1, out.back(), x_shape.back(), dtype};
  for (std::size_t d = 0; d + 2 < x_shape.size(); ++d) problem.planes *= x_shape[d];
  return problem;
}

std::shared_ptr<const jit::Kernel> transpose_kernel(Context& context, const TransposePlan& plan, DType dtype,
                                                    const TransposeConfig& config) {
  return context.jit().embedded_kernel(transpose_kernel_id(plan, dtype, config), context.device());
}

void copy_transpose(Array& out, const Array& x, const CopyTransposeOptions& options, device::Stream& stream) {
  check_arguments(out, x, options);
  const TransposeProblem problem = transpose_problem(x.shape(), x.dtype());
  Context& context = x.context();
  const TransposeConfig config = options.config != nullptr
                                     ? transpose_config(options.variant, *options.config, problem.dtype)
                                     : choose_transpose(problem, options.variant, options.tile_size,
                                                        context.device().facts(), context.tuning())
                                           .config;
  if (x.size() == 0) return;
  if (context.device().facts().kind == device::DeviceKind::cpu) return copy_transpose_cpu(out, x, stream);

  const TransposePlan plan = plan_transpose(x.shape(), x.strides(), out.strides(), config.tile == 0);
  if (plan.straight) return out.assign(transposed_view(x), stream);
  const TransposeConfig used = fitted(plan, x.address(), out.address(), problem.dtype, config);
  const auto kernel = transpose_kernel(context, plan, problem.dtype, used);
  const memory::Hold uses[] = {out.record_use(stream), x.record_use(stream)};
  if (used.tile == 0) {
    return (*kernel)(naive_launch(plan, context.device().facts()), stream, out, x, plan.matrix,
                     device_rows<2>(plan.planes));
  }
  const TransposeTiles tiles = transpose_tiles(plan, used, problem.dtype);
  device::LaunchConfig launch{.grid = tiles.grid};
  launch.block.x = static_cast<std::uint32_t>(block_threads(used));
  std::visit(
      [&](const auto& matrix, const auto& order) {
        if (plan.one_step()) {
          (*kernel)(launch, stream, out, x, matrix, order, plane_steps(plan));
        } else {
          (*kernel)(launch, stream, out, x, matrix, order, device_rows<2>(plan.planes));
        }
      },
      tiles.matrix, tiles.order);
}

Array copy_transpose(const Array& x, const CopyTransposeOptions& options, device::Stream& stream) {
  Array out = empty(x.context().shared_from_this(), transposed_shape(x.shape()), x.dtype(), stream);
  copy_transpose(out, x, options, stream);
  return out;
}

}  // namespace gpuforge::ops
