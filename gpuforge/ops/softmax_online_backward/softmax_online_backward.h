// The gradient of softmax_online: dx = y * (dy - sum(dy * y)), the sum along one axis.
#pragma once

#include <cstdint>
#include <string_view>

#include "gpuforge/array/array.h"

namespace gpuforge::ops {

struct SoftmaxOnlineBackwardOptions {
  std::int64_t dim = -1;              // the axis softmax_online was given
  std::string_view variant = "best";  // "best", "naive"
  const Config* config = nullptr;     // instead of the tuned or computed choice
};

// `dy` is the gradient of the result, `y` the result itself; `dx` a view with memory of its own. All three
// have one shape (any rank) and one dtype (f16, bf16, f32) and any strides. invalid_argument otherwise.
// Computed in float, rounded once; infinities and NaNs follow the formula. The same input gives the same bits
// for a given configuration.
void softmax_online_backward(Array& dx, const Array& dy, const Array& y,
                             const SoftmaxOnlineBackwardOptions& options, device::Stream& stream);
Array softmax_online_backward(const Array& dy, const Array& y, const SoftmaxOnlineBackwardOptions& options,
                              device::Stream& stream);

}  // namespace gpuforge::ops
