// out = x / sqrt(mean(x^2) + eps) * weight, over the last axis; with a residual, of x + residual.
#pragma once

#include <optional>
#include <string_view>

#include "gpuforge/array/array.h"

namespace gpuforge::ops {

struct RmsNormOptions {
  float eps = 1e-6F;
  std::string_view variant = "best";  // "best", "naive"
  const Config* config = nullptr;     // instead of the tuned or computed choice
};

// A residual stream: `out` = x + `in`, in float and rounded to the dtype, and it is these rounded sums that
// are normalised, so that the result is that of an addition and a norm one after the other (as Hugging Face's
// models have it).
struct Residual {
  Array& out;
  const Array& in;
};

// `x` is any view of rank 1 or more in f16, bf16 or f32; `weight` (nullptr: ones) of shape [N], N the last
// extent. `out`, `residual->in` and `residual->out` have x's shape, everything has x's dtype, and the outputs
// have memory of their own. invalid_argument otherwise, and for an eps that is negative or not a number.
//
// Computed in float, rounded once. A row whose squares pass the largest float (3.4e38) is zeros; with an
// infinity in it, NaN there and zeros elsewhere; with a NaN, NaN throughout. The same input gives the same
// bits for a given configuration.
void rms_norm(Array& out, const Array& x, const Array* weight, std::optional<Residual> residual,
              const RmsNormOptions& options, device::Stream& stream);
Array rms_norm(const Array& x, const Array* weight, const RmsNormOptions& options, device::Stream& stream);

}  // namespace gpuforge::ops
