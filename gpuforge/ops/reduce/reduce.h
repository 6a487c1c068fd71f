// out[...] = x[..., 0, ...] op x[..., 1, ...] op ...: one axis of x reduced to one element.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "gpuforge/array/array.h"

namespace gpuforge::ops {

enum class ReduceOp { sum, amax, amin, prod, mean };
std::string_view name(ReduceOp op);
// Also max for amax, min for amin. invalid_argument with those there are.
ReduceOp parse_reduce_op(std::string_view text);

struct ReduceOptions {
  bool keepdim = false;                                  // the axis stays, with one element
  std::string_view variant = "best";                     // "best", "naive"
  const Config* config = nullptr;                        // instead of the tuned or computed choice
  std::shared_ptr<memory::Allocator> scratch = nullptr;  // for partial results; the context's when none
};

// `x` is any view of rank 1 or more in f16, bf16 or f32; `dim` one of its axes, from the back when negative;
// `out` a view of x's shape without that axis (keepdim: with one element there), of x's dtype, in memory of
// its own. invalid_argument otherwise.
//
// Computed in float and rounded once to the dtype. The order is fixed by the configuration: the same input
// gives the same bits. Sums overflow as float does; a product overflows or vanishes only where its result
// does. amax and amin are exact, and NaN where there is one. Of no elements the sum is 0, the product 1, the
// mean NaN, and amax and amin an invalid_argument.
void reduce(Array& out, const Array& x, std::int64_t dim, ReduceOp op, const ReduceOptions& options,
            device::Stream& stream);
Array reduce(const Array& x, std::int64_t dim, ReduceOp op, const ReduceOptions& options,
             device::Stream& stream);

}  // namespace gpuforge::ops
