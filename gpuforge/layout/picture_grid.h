// A grid of cells with headings, as part of a picture. Not installed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpuforge/layout/svg.h"

namespace gpuforge::layout {

struct Cell {
  Colour fill = kIdleCell;
  std::string first;   // lines of text
  std::string second;  // may be empty
  std::string tip;     // shown by browsers when the pointer rests on it
  bool quiet = false;
  std::int64_t owner = -1;  // cells of the same owner have one outline around them
  bool alarm = false;       // a red one
};

// One side of the grid: the sizes of its modes, the first running fastest.
struct Axis {
  std::vector<std::int64_t> extents;  // none is 1
  std::int64_t size = 1;
};

struct Grid {
  Axis rows;
  Axis columns;
  std::vector<Cell> cells;  // rows running fastest
  const Cell& at(std::int64_t row, std::int64_t column) const {
    return cells[static_cast<std::size_t>(row + column * rows.size)];
  }
};

// Where everything goes. Long and flat grids are broken into panels below each other, tall and thin ones into
// panels beside each other; one long row is broken into lines, as text is.
class GridPlan {
 public:
  explicit GridPlan(const Grid& grid);
  double width() const { return width_; }
  double height() const { return height_; }
  bool has_text() const { return font_ > 0; }
  bool has_panels() const { return panels_.size() > 1; }
  bool has_lines() const { return in_lines_; }
  void move(double x, double y);
  void draw(SvgWriter& svg) const;

 private:
  struct Panel {
    std::int64_t row, rows, column, columns;  // first and number
    double x, y;                              // of its first cell
  };
  struct Brackets {
    std::int64_t span = 0;  // cells under one; 0: none
    std::vector<std::string> labels;
  };

  void choose_cell_size();
  void place_panels();
  double row_heading_width() const;
  Brackets brackets(const Axis& axis, double cell, bool is_row) const;
  void draw_headings(SvgWriter& svg, const Panel& panel) const;
  void draw_brackets(SvgWriter& svg, const Panel& panel) const;
  void draw_cells(SvgWriter& svg) const;
  void draw_lines(SvgWriter& svg, const Panel& panel) const;
  void draw_outlines(SvgWriter& svg, bool alarm) const;
  void draw_texts(SvgWriter& svg) const;
  std::string tile_lines(const Panel& panel, std::int64_t every, bool of_rows) const;

  const Grid& grid_;
  double font_ = 0;  // 0: no text in cells
  double heading_font_ = 9;
  double cell_width_ = 0;
  double cell_height_ = 0;
  bool two_lines_ = false;
  bool in_lines_ = false;
  Brackets row_brackets_;
  Brackets column_brackets_;
  std::vector<Panel> panels_;
  double width_ = 0;
  double height_ = 0;
};

}  // namespace gpuforge::layout
