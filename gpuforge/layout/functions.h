// The functions of the language, a table for each group, and layouts as functions. Not installed.
#pragma once

#include <limits>

#include "gpuforge/layout/arguments.h"

namespace gpuforge::layout {

inline constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

std::span<const Function> making_functions();     // functions_making.cpp: make, ask, coordinates
std::span<const Function> mode_functions();       // functions_modes.cpp
std::span<const Function> algebra_functions();    // functions_algebra.cpp
std::span<const Function> partition_functions();  // functions_partition.cpp

// A(3), A(1,2): the index of a coordinate. A(_,2): a slice, and where it begins.
Value apply_layout(const Value& value, Value::Values arguments);

}  // namespace gpuforge::layout
