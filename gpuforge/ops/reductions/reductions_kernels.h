// Of reductions: what the plain kernel and the cpu's loop share. Not installed.
#pragma once

#include "gpuforge/ops/reductions/reductions.h"
#include "gpuforge/ops/rows.h"

namespace gpuforge::ops {

// In what elements are added up or compared: f32, f64 or i64.
DType accumulator_dtype(DType x);
bool gives_place(Reduction reduction);    // argmax, argmin
bool takes_truths(Reduction reduction);   // any, all
bool takes_largest(Reduction reduction);  // max, argmax, any

// The kernel of a launch, and the second where rows are in parts.
jit::KernelId reduction_kernel_id(Reduction reduction, DType x, DType out, DType accumulator);
jit::KernelId found_kernel_id(Reduction reduction, DType out, DType accumulator);
// How many parts a row of a launch is cut into.
std::int64_t reduction_parts(const Rows& rows, const device::DeviceFacts& facts);
void reduce_elements_on_host(Reduction reduction, const Array& out, const Array& x, const Rows& rows);

}  // namespace gpuforge::ops
