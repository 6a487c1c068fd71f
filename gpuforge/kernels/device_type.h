// What an element type is called in device code: the names of kernels/half.cuh.
#pragma once

#include <cstddef>
#include <string_view>

#include "gpuforge/base/dtype.h"

namespace gpuforge {

std::string_view device_type(DType dtype);
// An unsigned integer of 1, 2, 4 or 8 bytes: bits that only move need no type, so all dtypes of one size can
// share a kernel.
std::string_view bits_type(std::size_t bytes);

}  // namespace gpuforge
