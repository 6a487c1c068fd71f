#include "gpuforge/ops/softmax_online_backward/softmax_online_backward.h"

#include <algorithm>

#include "gpuforge/ops/arguments.h"
#include "gpuforge/ops/row_fit.h"
#include "gpuforge/ops/softmax_online_backward/softmax_online_backward_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::string_view kName = "softmax_online_backward";
constexpr jit::FixedText kFile = "gpuforge/ops/softmax_online_backward/softmax_online_backward.cu";
constexpr int kThreadBytes = 16;  // of each, of whole rows: as much as one array has elsewhere
constexpr int kHeldBytes = 64;    // of a row of y and one of dy, a thread: 32 registers
// In f32, which takes no registers to compute, blocks of kThreadsBeside are faster with more than clusters.
constexpr int kMoreHeldBytes = 128;
constexpr std::int64_t kMostBytesWithMore = kThreadsBeside * kMoreHeldBytes;  // of a row
constexpr int kClusterHeldBytes = 128;  // of y in 32 registers, of dy in shared memory

void check_arguments(const Array& dx, const Array& dy, const Array& y) {
  check_floating(kName, "y", y);
  check_device(kName, "dy", dy, y);
  check_dtype(kName, "dy", dy, y.dtype());
  check_shape(kName, "dy", dy, y.shape());
  check_device(kName, "dx", dx, y);
  check_dtype(kName, "dx", dx, y.dtype());
  check_shape(kName, "dx", dx, y.shape());
  check_output(kName, "dx", dx, y);
  check_output(kName, "dx", dx, dy);
}

}  // namespace

Rows softmax_backward_rows(const Shape& shape, const Strides& y, const Strides& dy, const Strides& dx,
                           std::int64_t dim) {
  if (shape.empty()) {
    normalize_axis(dim, 1, "softmax_online_backward");
    return make_rows({1}, {{1}, {1}, {1}}, 0);
  }
  return make_rows(shape, {y, dy, dx}, normalize_axis(dim, shape.size(), "softmax_online_backward"));
}

RowProblem softmax_backward_problem(const Rows& rows, DType dtype, std::string_view variant,
                                    device::Address y, device::Address dy, device::Address dx) {
  GPUFORGE_CHECK(variant == "best" || variant == "naive", "{}: there is no variant '{}'; it has best, naive",
                 kName, variant);
  const std::size_t bytes = element_bytes(dtype);
  const RowStart starts[] = {{0, y, bytes}, {1, dy, bytes}, {2, dx, bytes}};
  RowProblem problem = row_problem(kName, rows, starts, dtype, kHeldBytes);
  problem.arrays = 2;
  problem.ahead_parts = kAheadParts * 2;  // dy alone is read ahead
  if (problem.form == RowForm::whole) problem.thread_bytes = kThreadBytes;
  if (problem.form == RowForm::whole && dtype == DType::f32 && rows.length * 4 <= kMostBytesWithMore)
    problem.held_bytes = problem.block_bytes = kMoreHeldBytes;
  problem.most_cluster = kMostCluster;
  problem.cluster_held_bytes = kClusterHeldBytes;
  problem.cluster_shared_arrays = 1;
  return problem;
}

jit::KernelId softmax_backward_kernel_id(std::string_view variant, DType dtype, const RowConfig& config) {
  if (variant == "naive") return {kFile, "gpuforge::softmax_backward_naive", dtype};
  if (takes_turns(config, dtype))
    return {kFile,         "gpuforge::softmax_backward_in_turn",
            dtype,         config.vector,
            config.items,  config.threads,
            config.cluster};
  return row_kernel_id(kFile, "gpuforge::softmax_backward", dtype, config);
}

std::shared_ptr<const jit::Kernel> softmax_backward_kernel(Context& context, std::string_view variant,
                                                           DType dtype, const RowConfig& config) {
  return context.jit().embedded_kernel(softmax_backward_kernel_id(variant, dtype, config), context.device());
}

void softmax_online_backward(Array& dx, const Array& dy, const Array& y,
                             const SoftmaxOnlineBackwardOptions& options, device::Stream& stream) {
  check_arguments(dx, dy, y);
  const Rows rows = softmax_backward_rows(y.shape(), y.strides(), dy.strides(), dx.strides(), options.dim);
  const RowProblem problem =
      softmax_backward_problem(rows, y.dtype(), options.variant, y.address(), dy.address(), dx.address());
  Context& context = y.context();
  const device::DeviceFacts& facts = context.device().facts();
  const RowConfig config =
      choose_row_config(problem, options.variant, options.config, facts, context.tuning()).config;
  if (y.size() == 0) return;
  const memory::Hold uses[] = {dx.record_use(stream), dy.record_use(stream), y.record_use(stream)};
  if (facts.kind == device::DeviceKind::cpu) return softmax_online_backward_cpu(dx, dy, y, rows, stream);

  const auto kernel = softmax_backward_kernel(context, options.variant, y.dtype(), config);
  RowLaunch how = row_launch(problem, config, facts);
  if (takes_turns(config, y.dtype())) {
    const int at_once = std::max(kernel->function().max_active_clusters(how.launch), 1);
    const auto clusters = static_cast<std::uint32_t>(std::min<std::int64_t>(at_once, rows.count));
    how.launch.grid.x = clusters * how.launch.cluster.x;
  }
  launch_rows<3>(*kernel, how, stream, rows, dx, dy, y);
}

Array softmax_online_backward(const Array& dy, const Array& y, const SoftmaxOnlineBackwardOptions& options,
                              device::Stream& stream) {
  Array dx = empty(y.context().shared_from_this(), y.shape(), y.dtype(), stream);
  softmax_online_backward(dx, dy, y, options, stream);
  return dx;
}

}  // namespace gpuforge::ops
