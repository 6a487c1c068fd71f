#include "gpuforge/ops/layer_norm/layer_norm.h"

#include "gpuforge/kernels/device_type.h"
#include "gpuforge/ops/layer_norm/layer_norm_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::string_view kName = "layer_norm";
constexpr std::string_view kFile = "gpuforge/ops/layer_norm/layer_norm.cu";

}  // namespace

std::string layer_norm_expression(std::string_view variant, DType dtype, const RowConfig& config) {
  if (variant == "naive") return format_text("gpuforge::layer_norm_naive<{}>", device_type(dtype));
  return row_expression("layer_norm", dtype, config);
}

std::shared_ptr<const jit::Kernel> layer_norm_kernel(Context& context, std::string_view variant, DType dtype,
                                                     const RowConfig& config) {
  return context.jit().embedded_kernel(kFile, layer_norm_expression(variant, dtype, config),
                                       context.device());
}

void layer_norm(Array& out, const Array& x, const Array* weight, const Array* bias,
                std::optional<Residual> residual, const LayerNormOptions& options, device::Stream& stream) {
  const NormArrays arrays{.x = x,
                          .out = out,
                          .residual = residual ? &residual->in : nullptr,
                          .residual_out = residual ? &residual->out : nullptr,
                          .weight = weight,
                          .bias = bias};
  check_norm(kName, arrays, options.eps);
  const Rows rows = norm_rows(arrays);
  const RowProblem problem = norm_problem(kName, rows, arrays, options.variant);
  Context& context = x.context();
  const device::DeviceFacts& facts = context.device().facts();
  const RowConfig config =
      choose_row_config(problem, options.variant, options.config, facts, context.tuning()).config;
  if (x.size() == 0) return;
  if (facts.kind == device::DeviceKind::cpu) return layer_norm_cpu(arrays, rows, options.eps, stream);

  const auto kernel = layer_norm_kernel(context, options.variant, x.dtype(), config);
  record_uses(arrays, stream);
  (*kernel)(row_launch(problem, config), stream, out, x, address_of(weight), address_of(bias),
            address_of(arrays.residual), address_of(arrays.residual_out), options.eps,
            device_rows<kNormArrays>(rows));
}

Array layer_norm(const Array& x, const Array* weight, const Array* bias, const LayerNormOptions& options,
                 device::Stream& stream) {
  Array out = empty(x.context().shared_from_this(), x.shape(), x.dtype(), stream);
  layer_norm(out, x, weight, bias, {}, options, stream);
  return out;
}

}  // namespace gpuforge::ops
