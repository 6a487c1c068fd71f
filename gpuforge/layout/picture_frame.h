// What stands around a grid: title, legend, the chart of an access. Not installed.
#pragma once

#include <string>
#include <vector>

#include "gpuforge/layout/access.h"
#include "gpuforge/layout/picture_grid.h"

namespace gpuforge::layout {

struct Legend {
  enum class Kind { none, index, threads, banks };
  Kind kind = Kind::none;
  std::int64_t least = 0;  // of the indices
  std::int64_t most = 0;
  std::vector<std::string> notes;
};

struct Frame {
  std::vector<std::string> titles;  // the first in large letters
  Legend legend;
};

// The whole picture.
std::string framed(const Grid& grid, const Frame& frame, const WarpAccess* access);

}  // namespace gpuforge::layout
