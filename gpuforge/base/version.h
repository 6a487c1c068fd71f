// The version of the product, in one translation unit so that a release rebuilds one file.
#pragma once

#include <string_view>

namespace gpuforge {

std::string_view version();  // "0.1.0"

}  // namespace gpuforge
