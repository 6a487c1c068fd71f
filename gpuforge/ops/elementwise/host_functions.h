// The functions of the table as loops of the cpu device. Not installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpuforge/base/dtype.h"

namespace gpuforge::ops {

// out[i] = f(a[i], b[i], c[i]) for i below count. Operands are of the loop's type, truths int32 of 0 or 1;
// what gives a bool writes int32 of 0 or 1. Those a function does not have are not looked at.
using HostLoop = void (*)(void* out, const void* a, const void* b, const void* c, std::size_t count);

// A function has no loop for a type its rule never computes in.
struct HostFunction {
  HostLoop f32 = nullptr;
  HostLoop f64 = nullptr;
  HostLoop i32 = nullptr;
  HostLoop i64 = nullptr;
};

// The type elements are computed in: float for f32 and narrower floats, int for i32, narrower ones and bool.
DType compute_dtype(DType dtype);
HostLoop loop_for(const HostFunction& function, DType compute);

}  // namespace gpuforge::ops
