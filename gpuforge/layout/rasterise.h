// Pictures as PNG, by a program that is installed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpuforge::layout {

// The bytes of a PNG file, twice as large as the SVG while no side gets longer than 4096 pixels. The program
// is looked for in the folders of `search_path` ("/usr/bin:/bin"); an unavailable Error names the package
// that has it.
std::string rasterise(std::string_view svg, const std::optional<std::string>& search_path);

}  // namespace gpuforge::layout
