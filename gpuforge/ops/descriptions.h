// What each op's folder hands to the registry, in its _op.cpp.
#pragma once

#include "gpuforge/lab/op.h"

namespace gpuforge::ops {

struct Function;

lab::Op describe_copy_transpose();
lab::Op describe_elementwise();
// One function of its table as an op of its own, which the registry finds by name and does not list.
lab::Op describe_element_function(const Function& function);
lab::Op describe_layer_norm();
lab::Op describe_matmul();
lab::Op describe_reduce();
lab::Op describe_reduce_sum();
lab::Op describe_rms_norm();
lab::Op describe_rms_norm_backward();
lab::Op describe_softmax_online();
lab::Op describe_softmax_online_backward();

}  // namespace gpuforge::ops
