#include "gpuforge/lab/error_map.h"

#include <algorithm>

#include "gpuforge/base/divide.h"
#include "gpuforge/base/error.h"

namespace gpuforge::lab {
namespace {

constexpr std::int64_t kMostRows = 16;
constexpr std::int64_t kMostColumns = 32;

}  // namespace

ErrorMap draw_errors(const Shape& shape, const std::vector<bool>& wrong) {
  const std::int64_t count = element_count(shape);
  GPUFORGE_ASSERT(static_cast<std::int64_t>(wrong.size()) == count, "lab: {} marks for {} elements",
                  wrong.size(), count);
  ErrorMap map;
  if (count == 0) return map;
  map.columns = shape.empty() ? 1 : shape.back();
  map.rows = count / map.columns;
  map.cell_rows = divided_up(map.rows, kMostRows);
  map.cell_columns = divided_up(map.columns, kMostColumns);
  for (std::int64_t top = 0; top < map.rows; top += map.cell_rows) {
    std::string line;
    for (std::int64_t left = 0; left < map.columns; left += map.cell_columns) {
      bool any = false;
      bool all = true;
      for (std::int64_t i = top; i < std::min(top + map.cell_rows, map.rows); ++i) {
        for (std::int64_t j = left; j < std::min(left + map.cell_columns, map.columns); ++j) {
          const bool bad = wrong[static_cast<std::size_t>(i * map.columns + j)];
          any = any || bad;
          all = all && bad;
        }
      }
      line += all ? '#' : any ? '+' : '.';
    }
    map.lines.push_back(std::move(line));
  }
  return map;
}

}  // namespace gpuforge::lab
