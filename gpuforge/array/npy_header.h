// The head of a .npy file: a Python dictionary literal with three keys.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "gpuforge/base/shape.h"

namespace gpuforge {

struct NpyHeader {
  std::string descr;  // '<f4'; of a structured type the whole list as it stands
  bool structured = false;
  bool fortran_order = false;
  Shape shape;
  std::size_t data_at = 0;  // bytes before the elements
};

// parse Error naming `what`; looks at no byte past the header.
NpyHeader parse_npy_header(std::span<const std::byte> bytes, std::string_view what);

}  // namespace gpuforge
