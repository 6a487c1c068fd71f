#include "gpuforge/ops/rms_norm/rms_norm.h"

#include "gpuforge/kernels/device_type.h"
#include "gpuforge/ops/rms_norm/rms_norm_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::string_view kName = "rms_norm";
constexpr std::string_view kFile = "gpuforge/ops/rms_norm/rms_norm.cu";

}  // namespace

std::string rms_norm_expression(std::string_view variant, DType dtype, const RowConfig& config) {
  if (variant == "naive") return format_text("gpuforge::rms_norm_naive<{}>", device_type(dtype));
  return row_expression("rms_norm", dtype, config);
}

std::shared_ptr<const jit::Kernel> rms_norm_kernel(Context& context, std::string_view variant, DType dtype,
                                                   const RowConfig& config) {
  return context.jit().embedded_kernel(kFile, rms_norm_expression(variant, dtype, config), context.device());
}

void rms_norm(Array& out, const Array& x, const Array* weight, std::optional<Residual> residual,
              const RmsNormOptions& options, device::Stream& stream) {
  const NormArrays arrays{.x = x,
                          .out = out,
                          .residual = residual ? &residual->in : nullptr,
                          .residual_out = residual ? &residual->out : nullptr,
                          .weight = weight,
                          .bias = nullptr};
  check_norm(kName, arrays, options.eps);
  const Rows rows = norm_rows(arrays);
  const RowProblem problem = norm_problem(kName, rows, arrays, options.variant);
  Context& context = x.context();
  const device::DeviceFacts& facts = context.device().facts();
  const RowConfig config =
      choose_row_config(problem, options.variant, options.config, facts, context.tuning()).config;
  if (x.size() == 0) return;
  if (facts.kind == device::DeviceKind::cpu) return rms_norm_cpu(arrays, rows, options.eps, stream);

  const auto kernel = rms_norm_kernel(context, options.variant, x.dtype(), config);
  record_uses(arrays, stream);
  (*kernel)(row_launch(problem, config), stream, out, x, address_of(weight), address_of(arrays.residual),
            address_of(arrays.residual_out), options.eps, device_rows<kNormArrays>(rows));
}

Array rms_norm(const Array& x, const Array* weight, const RmsNormOptions& options, device::Stream& stream) {
  Array out = empty(x.context().shared_from_this(), x.shape(), x.dtype(), stream);
  rms_norm(out, x, weight, {}, options, stream);
  return out;
}

}  // namespace gpuforge::ops
