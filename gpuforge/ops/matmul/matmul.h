// out = a @ b: NumPy's matmul of any dtype, strides and batch.
#pragma once

#include <string_view>

#include "gpuforge/array/array.h"

namespace gpuforge::ops {

struct MatmulOptions {
  Array* out = nullptr;               // written instead of a new array: of the result's shape and dtype
  std::string_view variant = "best";  // "best", "naive"
  const Config* config = nullptr;     // instead of the tuned or computed choice
};

// [.., m, k] by [.., k, n] is [.., m, n]; the axes in front broadcast. An operand of one axis is a row (a) or
// a column (b), whose axis the result does not have. The result's dtype is the promoted one
// (base/promotion.h), in which operands of another dtype are converted first. Any views are read where they
// lie. invalid_argument: an operand without axes, inner extents that differ, an `out` of another shape or
// dtype, or that shares memory with an operand.
//
// f32 and narrower floats are multiplied and added up in float and rounded once, f64 in double, one product
// after the other along k; integers wrap; bools are "any of both". Of no products the sum is 0. The same bits
// for the same input on one device and configuration.
Array matmul(const Array& a, const Array& b, const MatmulOptions& options, device::Stream& stream);

// The shape of the result, or why there is none.
Shape matmul_shape(const Shape& a, const Shape& b);

}  // namespace gpuforge::ops
