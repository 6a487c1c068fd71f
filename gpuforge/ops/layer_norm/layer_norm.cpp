#include "gpuforge/ops/layer_norm/layer_norm.h"

#include "gpuforge/ops/layer_norm/layer_norm_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::string_view kName = "layer_norm";

}  // namespace

void layer_norm(Array& out, const Array& x, const Array* weight, const Array* bias,
                std::optional<Residual> residual, const LayerNormOptions& options, device::Stream& stream) {
  const NormArrays arrays{.x = x,
                          .out = out,
                          .residual = residual ? &residual->in : nullptr,
                          .residual_out = residual ? &residual->out : nullptr,
                          .weight = weight,
                          .bias = bias};
  const NormPlan plan = plan_norm(kName, arrays, options.eps, options.variant, options.config);
  if (x.size() == 0) return;
  const auto uses = record_uses(arrays, stream);
  Context& context = x.context();
  const device::DeviceFacts& facts = context.device().facts();
  if (facts.kind == device::DeviceKind::cpu) return layer_norm_cpu(arrays, plan.rows, options.eps, stream);

  const auto kernel = norm_kernel(context, kName, options.variant, x.dtype(), plan.config, norm_has(arrays));
  launch_rows<kNormArrays>(*kernel, row_launch(plan.problem, plan.config, facts), stream, plan.rows, out, x,
                           address_of(weight), address_of(bias), address_of(arrays.residual),
                           address_of(arrays.residual_out), options.eps);
}

Array layer_norm(const Array& x, const Array* weight, const Array* bias, const LayerNormOptions& options,
                 device::Stream& stream) {
  Array out = empty(x.context().shared_from_this(), x.shape(), x.dtype(), stream);
  layer_norm(out, x, weight, bias, {}, options, stream);
  return out;
}

}  // namespace gpuforge::ops
