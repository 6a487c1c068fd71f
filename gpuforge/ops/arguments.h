// Checks that every op makes of its arrays. Each is an invalid_argument that names the op and the argument,
// what was expected and what was found.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "gpuforge/array/array.h"

namespace gpuforge::ops {

// f16, bf16 or f32.
void check_floating(std::string_view op, std::string_view argument, const Array& array);
void check_dtype(std::string_view op, std::string_view argument, const Array& array, DType expected);
void check_shape(std::string_view op, std::string_view argument, const Array& array, const Shape& expected);
void check_device(std::string_view op, std::string_view argument, const Array& array, const Array& like);
// An output may not share memory with an input, and no element of it may be another's.
void check_output(std::string_view op, std::string_view argument, const Array& out, const Array& input);

// Whether a value of a configuration is among those that there are.
bool is_one_of(std::span<const int> list, std::int64_t value);

}  // namespace gpuforge::ops
