// out = exp(x) over the sum of exp(x), along one axis.
#pragma once

#include <cstdint>
#include <string_view>

#include "gpuforge/array/array.h"

namespace gpuforge::ops {

struct SoftmaxOnlineOptions {
  std::int64_t dim = -1;              // the axis, counted from the end when negative
  std::string_view variant = "best";  // "best", "online", "safe", "naive"
  const Config* config = nullptr;     // instead of the tuned or computed choice
};

// `x` is any view in f16, bf16 or f32 of any rank (a scalar counts as one element, with dim 0 or -1); `out` a
// view of the same shape and dtype with memory of its own. invalid_argument otherwise. A row is what lies
// along `dim`; rows of no elements are nothing to do.
//
// Computed in float relative to the row's maximum, and rounded once: no size of x overflows. As in torch, a
// row that holds a NaN or +infinity, or -infinity alone, is NaN throughout; -infinity among numbers is 0. The
// same input gives the same bits for a given configuration.
void softmax_online(Array& out, const Array& x, const SoftmaxOnlineOptions& options, device::Stream& stream);
Array softmax_online(const Array& x, const SoftmaxOnlineOptions& options, device::Stream& stream);

}  // namespace gpuforge::ops
