#include "gpuforge/ops/softmax_online/softmax_online.h"

#include "gpuforge/ops/arguments.h"
#include "gpuforge/ops/softmax_online/softmax_online_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::string_view kName = "softmax_online";
constexpr jit::FixedText kFile = "gpuforge/ops/softmax_online/softmax_online.cu";
constexpr int kHeldBytes = 128;  // of a row, a thread: 32 registers

void check_arguments(const Array& out, const Array& x) {
  check_floating(kName, "x", x);
  check_device(kName, "out", out, x);
  check_dtype(kName, "out", out, x.dtype());
  check_shape(kName, "out", out, x.shape());
  check_output(kName, "out", out, x);
}

}  // namespace

Rows softmax_rows(const Shape& shape, const Strides& x, const Strides& out, std::int64_t dim) {
  if (shape.empty()) {
    normalize_axis(dim, 1, "softmax_online");
    return make_rows({1}, {{1}, {1}}, 0);
  }
  return make_rows(shape, {x, out}, normalize_axis(dim, shape.size(), "softmax_online"));
}

RowProblem softmax_problem(const Rows& rows, DType dtype, std::string_view variant, device::Address x,
                           device::Address out) {
  const bool known = variant == "best" || variant == "online" || variant == "safe" || variant == "naive";
  GPUFORGE_CHECK(known, "{}: there is no variant '{}'; it has best, online, safe, naive", kName, variant);
  const std::size_t bytes = element_bytes(dtype);
  const RowStart starts[] = {{0, x, bytes}, {1, out, bytes}};
  RowProblem problem = row_problem(kName, rows, starts, dtype, variant == "best" ? kHeldBytes : 0);
  if (variant == "best") {
    problem.arrays = 1;
    problem.most_cluster = kMostCluster;
    problem.cluster_held_bytes = kHeldBytes;
  }
  return problem;
}

jit::KernelId softmax_kernel_id(std::string_view variant, DType dtype, const RowConfig& config) {
  if (variant == "naive") return {kFile, "gpuforge::softmax_naive", dtype};
  if (variant == "safe") return row_kernel_id(kFile, "gpuforge::softmax_safe", dtype, config);
  return row_kernel_id(kFile, "gpuforge::softmax_online", dtype, config);
}

std::shared_ptr<const jit::Kernel> softmax_kernel(Context& context, std::string_view variant, DType dtype,
                                                  const RowConfig& config) {
  return context.jit().embedded_kernel(softmax_kernel_id(variant, dtype, config), context.device());
}

void softmax_online(Array& out, const Array& x, const SoftmaxOnlineOptions& options, device::Stream& stream) {
  check_arguments(out, x);
  const Rows rows = softmax_rows(x.shape(), x.strides(), out.strides(), options.dim);
  const RowProblem problem = softmax_problem(rows, x.dtype(), options.variant, x.address(), out.address());
  Context& context = x.context();
  const device::DeviceFacts& facts = context.device().facts();
  const RowConfig config =
      choose_row_config(problem, options.variant, options.config, facts, context.tuning()).config;
  if (x.size() == 0) return;
  const memory::Hold uses[] = {out.record_use(stream), x.record_use(stream)};
  if (facts.kind == device::DeviceKind::cpu) return softmax_online_cpu(out, x, rows, stream);

  const auto kernel = softmax_kernel(context, options.variant, x.dtype(), config);
  launch_rows<2>(*kernel, row_launch(problem, config, facts), stream, rows, out, x);
}

Array softmax_online(const Array& x, const SoftmaxOnlineOptions& options, device::Stream& stream) {
  Array out = empty(x.context().shared_from_this(), x.shape(), x.dtype(), stream);
  softmax_online(out, x, options, stream);
  return out;
}

}  // namespace gpuforge::ops
