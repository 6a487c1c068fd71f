// What numbers an element type can hold.
#pragma once

#include "gpuforge/base/dtype.h"

namespace gpuforge {

struct DTypeLimits {
  double largest;          // finite; of i64 what a double still counts, 2^53
  double smallest_normal;  // below, a number has fewer digits; 1 for integers
  double smallest;         // positive
  double rounding;         // half a unit in the last place of a number of size 1; 0 for integers
};
DTypeLimits limits_of(DType dtype);

}  // namespace gpuforge
