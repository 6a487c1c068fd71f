// out = (x - mean) / sqrt(variance + eps) * weight + bias, over the last axis; with a residual, of x +
// residual.
#pragma once

#include <optional>
#include <string_view>

#include "gpuforge/array/array.h"
#include "gpuforge/ops/rms_norm/rms_norm.h"

namespace gpuforge::ops {

struct LayerNormOptions {
  float eps = 1e-5F;
  std::string_view variant = "best";  // "best", "naive"
  const Config* config = nullptr;     // instead of the tuned or computed choice
};

// `x` is any view of rank 1 or more in f16, bf16 or f32; `weight` (nullptr: ones) and `bias` (nullptr: zeros)
// of shape [N], N the last extent. `out`, `residual->in` and `residual->out` have x's shape, everything has
// x's dtype, and the outputs have memory of their own. invalid_argument otherwise, and for an eps that is
// negative or not a number. A residual is that of rms_norm: the rounded sums are normalised.
//
// Computed in float, rounded once: the mean first, then the variance of x - mean (the biased one, over N), so
// that a mean far from zero costs no digits. A NaN or an infinity makes its row NaN; so may numbers whose
// squares pass the largest float. The same input gives the same bits for a given configuration.
void layer_norm(Array& out, const Array& x, const Array* weight, const Array* bias,
                std::optional<Residual> residual, const LayerNormOptions& options, device::Stream& stream);
Array layer_norm(const Array& x, const Array* weight, const Array* bias, const LayerNormOptions& options,
                 device::Stream& stream);

}  // namespace gpuforge::ops
