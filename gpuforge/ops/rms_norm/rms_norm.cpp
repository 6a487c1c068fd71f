#include "gpuforge/ops/rms_norm/rms_norm.h"

#include "gpuforge/ops/rms_norm/rms_norm_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::string_view kName = "rms_norm";

}  // namespace

void rms_norm(Array& out, const Array& x, const Array* weight, std::optional<Residual> residual,
              const RmsNormOptions& options, device::Stream& stream) {
  const NormArrays arrays{.x = x,
                          .out = out,
                          .residual = residual ? &residual->in : nullptr,
                          .residual_out = residual ? &residual->out : nullptr,
                          .weight = weight,
                          .bias = nullptr};
  const NormPlan plan = plan_norm(kName, arrays, options.eps, options.variant, options.config);
  if (x.size() == 0) return;
  const auto uses = record_uses(arrays, stream);
  Context& context = x.context();
  const device::DeviceFacts& facts = context.device().facts();
  if (facts.kind == device::DeviceKind::cpu) return rms_norm_cpu(arrays, plan.rows, options.eps, stream);

  const auto kernel = norm_kernel(context, kName, options.variant, x.dtype(), plan.config, norm_has(arrays));
  launch_rows<kNormArrays>(*kernel, row_launch(plan.problem, plan.config, facts), stream, plan.rows, out, x,
                           address_of(weight), address_of(arrays.residual), address_of(arrays.residual_out),
                           options.eps);
}

Array rms_norm(const Array& x, const Array* weight, const RmsNormOptions& options, device::Stream& stream) {
  Array out = empty(x.context().shared_from_this(), x.shape(), x.dtype(), stream);
  rms_norm(out, x, weight, {}, options, stream);
  return out;
}

}  // namespace gpuforge::ops
