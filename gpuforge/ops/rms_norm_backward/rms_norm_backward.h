// The gradients of rms_norm(x, weight): with r = 1 / sqrt(mean(x^2) + eps),
//   dx = r * (dy * weight - x * r^2 * mean(dy * weight * x)),   dweight = sum over the rows of dy * x * r.
#pragma once

#include <memory>
#include <string_view>

#include "gpuforge/array/array.h"

namespace gpuforge::ops {

struct RmsNormBackwardOptions {
  float eps = 1e-6F;                                     // as in rms_norm
  std::string_view variant = "best";                     // "best", "naive"
  const Config* config = nullptr;                        // instead of the tuned or computed choice
  std::shared_ptr<memory::Allocator> scratch = nullptr;  // for partial results; the context's when none
};

// `dy` and `x` are views of one shape, rank 1 or more, in one dtype (f16, bf16, f32); with a residual, `x` is
// the sum that was normalised (residual_out). `weight` has shape [N]; with nullptr, ones, and `dweight` must
// be nullptr too. `dx` has x's shape and `dweight` shape [N], both x's dtype, with memory of their own.
// invalid_argument otherwise.
//
// Computed in float, rounded once. dweight is summed in float, over pieces of rows and then over the pieces,
// in one order: the same input gives the same bits for a given configuration. It takes 4 * N bytes of
// temporary memory a piece. Infinities, NaNs and squares that pass the largest float follow the formula.
void rms_norm_backward(Array& dx, Array* dweight, const Array& dy, const Array& x, const Array* weight,
                       const RmsNormBackwardOptions& options, device::Stream& stream);

}  // namespace gpuforge::ops
