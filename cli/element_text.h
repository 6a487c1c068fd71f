// One element or scalar from its text: 1.5, -3, 0xff, 2^20, nan, true.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "gpuforge/base/dtype.h"

namespace gpuforge::cli {

// What is wrong with the text, as the end of a sentence ("'300' does not fit u8 (0 to 255)"), or nothing:
// then `to` holds the element. A finite number too large for the type is wrong, never an infinity.
std::optional<std::string> parse_element(std::string_view text, DType dtype, void* to);

// A whole number of `bytes` bytes, for kernel parameters that no dtype names (u16, u32, u64).
std::optional<std::string> parse_unsigned(std::string_view text, std::size_t bytes, void* to);

}  // namespace gpuforge::cli
