// The index grid of a layout: `gpuforge layout --table`.
#pragma once

#include <string>

#include "gpuforge/base/json.h"
#include "gpuforge/layout/expression.h"

namespace gpuforge::cli {

// An Error for what is no layout, has unknown sizes or strides, or more cells than anyone reads. The offset
// of a part is added to its indices.
// table[i][j].. is the index of the coordinate (i,j,..).
Json table_json(const layout::Value& value);
// Mode 0 goes down and mode 1 to the right; a layout of one mode is a row; one with more is a grid for each
// coordinate of the other modes. Columns beyond the width go on below.
std::string table_text(const layout::Value& value, int columns);

}  // namespace gpuforge::cli
