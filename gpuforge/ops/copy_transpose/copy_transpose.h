// out = x with its last two axes exchanged: out[.., j, i] = x[.., i, j], bit for bit.
#pragma once

#include <string_view>

#include "gpuforge/array/array.h"

namespace gpuforge::ops {

struct CopyTransposeOptions {
  int tile_size = 0;  // edge of the square a block moves at once: 16, 32, or 0 for its own choice
  std::string_view variant = "best";  // "best", "tiled", "naive"
  const Config* config = nullptr;     // instead of the tuned or computed choice
};

// `x` is any view of rank 2 or more in f16, bf16 or f32; `out` a view of the transposed shape, the same dtype
// and memory of its own. invalid_argument otherwise. NaNs keep their bits; the same input gives the same bits
// always. Where the views already run along the same axis (x is itself a transposed view, or has one row or
// column), tiled and best copy straight, without tiles.
void copy_transpose(Array& out, const Array& x, const CopyTransposeOptions& options, device::Stream& stream);
Array copy_transpose(const Array& x, const CopyTransposeOptions& options, device::Stream& stream);

}  // namespace gpuforge::ops
