// The host side of layer_norm; what it has like its sibling is in norm_rows.h. Not installed.
#pragma once

#include "gpuforge/ops/norm_rows.h"

namespace gpuforge::ops {

void layer_norm_cpu(const NormArrays& arrays, const Rows& rows, float eps, device::Stream& stream);

}  // namespace gpuforge::ops
