// What copy_transpose computes, as a plain loop in double.
#pragma once

#include "gpuforge/lab/op.h"

namespace gpuforge::ops {

lab::Expected copy_transpose_reference(const lab::HostTensor& x, const lab::EachRow& each_row);

}  // namespace gpuforge::ops
