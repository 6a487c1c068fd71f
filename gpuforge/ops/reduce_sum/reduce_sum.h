// out[...] = x[..., 0, ...] + x[..., 1, ...] + ...: the sum over one axis, in three steps from naive to fast
// and as fast as we know.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "gpuforge/array/array.h"

namespace gpuforge::ops {

struct ReduceSumOptions {
  bool keepdim = false;                                  // the axis stays, with one element
  std::string_view variant = "best";                     // "best", "shuffle", "improved", "naive"
  const Config* config = nullptr;                        // instead of the tuned or computed choice
  std::shared_ptr<memory::Allocator> scratch = nullptr;  // for partial results; the context's when none
};

// reduce() with ReduceOp::sum, and all that its contract says (ops/reduce/reduce.h), in every variant.
void reduce_sum(Array& out, const Array& x, std::int64_t dim, const ReduceSumOptions& options,
                device::Stream& stream);
Array reduce_sum(const Array& x, std::int64_t dim, const ReduceSumOptions& options, device::Stream& stream);

}  // namespace gpuforge::ops
