// What each op's folder hands to the registry, in its _op.cpp.
#pragma once

#include "gpuforge/lab/op.h"

namespace gpuforge::ops {

lab::Op describe_copy_transpose();
lab::Op describe_reduce();
lab::Op describe_reduce_sum();

}  // namespace gpuforge::ops
