// Element conversion, the same on every device (kernels/half.cuh and array/ follow these rules):
// to a float: one rounding to nearest even; f16/bf16 overflow to infinity, fp8 saturates.
// to an integer: towards zero, saturating, NaN gives 0 (as the GPU's cvt does).
// to bool: value != 0, NaN is true.
#pragma once

#include <cstddef>

#include "gpuforge/base/dtype.h"

namespace gpuforge {

// Converts `count` elements; the buffers must not overlap unless they are the same dtype and pointer.
void convert_elements(void* to, DType to_dtype, const void* from, DType from_dtype, std::size_t count);

// One element, read as double (i64 beyond 2^53 loses bits; use load_int64) or as an integer.
double load_double(const void* element, DType dtype);
std::int64_t load_int64(const void* element, DType dtype);
void store_double(void* element, DType dtype, double value);
void store_int64(void* element, DType dtype, std::int64_t value);

}  // namespace gpuforge
