// What a pointer parameter of a kernel points at, where its declaration tells.
#pragma once

#include <optional>

#include "gpuforge/base/dtype.h"
#include "gpuforge/jit/compiled.h"

namespace gpuforge::jit {

// Nothing for what is no pointer, for bytes (char, void), which may hold anything, and for types of the
// user's own.
std::optional<DType> pointee_dtype(const Parameter& parameter);

}  // namespace gpuforge::jit
