// Where an output is wrong, drawn small: a glance says "the last column" or "every other tile".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpuforge/base/shape.h"

namespace gpuforge::lab {

// The output as rows (all axes but the last, together) and columns, cut into at most 16 x 32 cells.
// '.' all elements of the cell are right, '#' all are wrong, '+' some are.
struct ErrorMap {
  std::int64_t rows = 0;  // of the output
  std::int64_t columns = 0;
  std::int64_t cell_rows = 1;  // elements that one cell stands for
  std::int64_t cell_columns = 1;
  std::vector<std::string> lines;
};
// `wrong` has an entry for each element, row-major.
ErrorMap draw_errors(const Shape& shape, const std::vector<bool>& wrong);

}  // namespace gpuforge::lab
