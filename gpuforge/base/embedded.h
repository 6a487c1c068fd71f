// Files compiled into the program (kernels, device headers): generated sources fill these in.
#pragma once

#include <span>
#include <string_view>

namespace gpuforge {

struct EmbeddedFile {
  std::string_view path;  // from the repository's root, e.g. "gpuforge/kernels/half.cuh"
  std::string_view text;
};

}  // namespace gpuforge
