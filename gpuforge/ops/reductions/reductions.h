// NumPy's reductions over no, one or several axes: sum, mean, prod, max, min, any, all, argmax, argmin, for
// every dtype on every device. A front: f16, bf16 and f32 go through `reduce`, the rest through a plain
// kernel of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "gpuforge/array/array.h"

namespace gpuforge::ops {

enum class Reduction : std::uint8_t { sum, mean, prod, max, min, any, all, argmax, argmin };
std::string_view name(Reduction reduction);
Reduction parse_reduction(std::string_view text);  // invalid_argument with those there are

struct ReductionOptions {
  bool keepdims = false;  // the axes stay, with one element
  Array* out = nullptr;   // written instead of a new array: of the result's shape and dtype
};

// The dtype of a result. sum and prod: i64 of integers and bools (NumPy has u64 for u8; there is none here),
// else x's. mean: f64 of integers and bools, else x's. max, min: x's. any, all: bool. argmax, argmin: i64.
DType reduction_dtype(Reduction reduction, DType x);

// `axes`: nothing for all of them; else each once, from the back when negative; an empty list reduces nothing
// and leaves the elements as the result's dtype has them. argmax and argmin take one axis, or all, and then
// count in row-major order. invalid_argument: an axis x does not have or that is named twice, an `out` of
// another shape or dtype or that shares memory with x, max, min, argmax and argmin of no elements.
//
// Floats narrower than f32 and f32 itself are computed in float, f64 in double, integers in i64, which wraps.
// The order is fixed: the same input gives the same bits. max and min are NaN where an element is; argmax and
// argmin give the first NaN, else the first of equals. Of no elements sum is 0, prod 1, mean NaN, any false,
// all true.
Array reduce_axes(Reduction reduction, const Array& x, std::optional<std::span<const std::int64_t>> axes,
                  const ReductionOptions& options, device::Stream& stream);

}  // namespace gpuforge::ops
