#include "gpuforge/layout/picture_grid.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "gpuforge/base/format.h"

namespace gpuforge::layout {
namespace {

constexpr double kPanelGap = 16;
constexpr std::size_t kMostTips = 1024;  // more would make the file slow to open

// Cells of a panel along a side that is much longer than the other one.
std::int64_t panel_length(const Axis& axis, std::int64_t across) {
  const std::int64_t wanted = across <= 2 ? 32 : 64;
  if (axis.size <= wanted || axis.size <= 4 * across) return axis.size;
  std::int64_t best = wanted, together = 1;
  for (const std::int64_t extent : axis.extents) {
    together *= extent;
    if (together <= wanted && 2 * together > wanted) best = together;
  }
  return best;
}

// The coordinate of `number` in what remains of an axis.
std::string coordinate_text(std::int64_t number, const std::vector<std::int64_t>& extents, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < extents.size(); ++i) {
    text += (i > from ? "," : "") + std::to_string(number % extents[i]);
    number /= extents[i];
  }
  return from + 1 < extents.size() ? "(" + text + ")" : text;
}

// Every how manieth number can be written along a side without touching the next.
std::int64_t heading_step(std::int64_t count, double cell, double needed) {
  std::int64_t step = 1;
  while (static_cast<double>(step) * cell < needed && step < count) step *= 2;
  return step;
}

std::string move_to(double x, double y) {
  return "M" + number_text(x) + " " + number_text(y);
}

}  // namespace

GridPlan::GridPlan(const Grid& grid) : grid_(grid) {
  choose_cell_size();
  in_lines_ = grid.rows.size == 1 && panel_length(grid.columns, 1) < grid.columns.size;
  if (!in_lines_) column_brackets_ = brackets(grid.columns, cell_width_, false);
  row_brackets_ = brackets(grid.rows, cell_height_, true);
  place_panels();
}

void GridPlan::choose_cell_size() {
  const std::int64_t rows = panel_length(grid_.rows, grid_.columns.size);
  const std::int64_t columns = panel_length(grid_.columns, grid_.rows.size);
  const std::int64_t longest = std::max(rows, columns);
  font_ = longest <= 16 ? 12 : longest <= 32 ? 11 : longest <= 64 ? 9 : longest <= 128 ? 7 : 0;
  heading_font_ = font_ > 0 ? std::min(font_, 10.0) : 9;
  double widest = 0;
  for (const Cell& cell : grid_.cells) {
    widest = std::max({widest, text_width(cell.first, font_), text_width(cell.second, font_ * 0.85)});
    two_lines_ = two_lines_ || !cell.second.empty();
  }
  if (font_ == 0) {
    cell_width_ = cell_height_ = 6;
    return;
  }
  cell_height_ = std::ceil(font_ * (two_lines_ ? 2.7 : 1.9));
  cell_width_ = std::ceil(std::max(cell_height_ * (two_lines_ ? 1.0 : 1.25), widest + font_ * 0.7));
}

GridPlan::Brackets GridPlan::brackets(const Axis& axis, double cell, bool is_row) const {
  Brackets result;
  std::int64_t span = 1;
  for (std::size_t i = 0; i + 1 < axis.extents.size(); ++i) {
    span *= axis.extents[i];
    double needed = heading_font_ + 2;
    std::vector<std::string> labels;
    for (std::int64_t tile = 0; tile < axis.size / span; ++tile) {
      labels.push_back(coordinate_text(tile, axis.extents, i + 1));
      if (!is_row) needed = std::max(needed, text_width(labels.back(), heading_font_) + 4);
    }
    if (static_cast<double>(span) * cell >= needed) return {span, std::move(labels)};
  }
  return result;
}

double GridPlan::row_heading_width() const {
  if (grid_.rows.size == 1 && !in_lines_) return 0;
  return text_width(std::to_string(in_lines_ ? grid_.columns.size : grid_.rows.size - 1), heading_font_);
}

void GridPlan::place_panels() {
  const std::int64_t rows = panel_length(grid_.rows, grid_.columns.size);
  const std::int64_t columns = panel_length(grid_.columns, grid_.rows.size);
  double before_x = row_heading_width() + 8;
  double before_y = heading_font_ + 8;
  double labels = 0;
  for (const std::string& label : row_brackets_.labels)
    labels = std::max(labels, text_width(label, heading_font_) + 10);
  before_x += labels;
  if (column_brackets_.span > 0) before_y += heading_font_ + 8;
  double x = 0, y = 0;
  for (std::int64_t row = 0; row < grid_.rows.size; row += rows) {
    y = 0;
    const std::int64_t high = std::min(rows, grid_.rows.size - row);
    for (std::int64_t column = 0; column < grid_.columns.size; column += columns) {
      const std::int64_t wide = std::min(columns, grid_.columns.size - column);
      panels_.push_back({row, high, column, wide, x + before_x, y + before_y});
      y += before_y + static_cast<double>(high) * cell_height_;
      width_ = std::max(width_, x + before_x + static_cast<double>(wide) * cell_width_ + 2);
      height_ = std::max(height_, y + 2);
      if (in_lines_) before_y = 0;
      if (!in_lines_) y += kPanelGap;
    }
    x = width_ + kPanelGap;
  }
}

void GridPlan::move(double x, double y) {
  for (Panel& panel : panels_) {
    panel.x += x;
    panel.y += y;
  }
}

void GridPlan::draw(SvgWriter& svg) const {
  draw_cells(svg);
  for (const Panel& panel : panels_) {
    draw_headings(svg, panel);
    draw_brackets(svg, panel);
    draw_lines(svg, panel);
  }
  draw_outlines(svg, false);
  draw_outlines(svg, true);
  if (has_text()) draw_texts(svg);
}

void GridPlan::draw_headings(SvgWriter& svg, const Panel& panel) const {
  const double needed = text_width(std::to_string(grid_.columns.size - 1), heading_font_) + 2;
  const std::int64_t column_step = heading_step(panel.columns, cell_width_, needed);
  if (!in_lines_ || panel.column == 0) {
    svg.open_text({heading_font_, kQuietInk, Align::middle});
    for (std::int64_t i = 0; i < panel.columns; i += column_step)
      svg.text(panel.x + (static_cast<double>(i) + 0.5) * cell_width_, panel.y - 5,
               std::to_string(panel.column + i));
    svg.close();
  }
  if (grid_.rows.size == 1 && !in_lines_) return;
  const std::int64_t row_step = heading_step(panel.rows, cell_height_, heading_font_ + 1);
  svg.open_text({heading_font_, kQuietInk, Align::end});
  for (std::int64_t i = 0; i < panel.rows; i += row_step)
    svg.text(panel.x - 5, panel.y + (static_cast<double>(i) + 0.5) * cell_height_ + heading_font_ * 0.36,
             std::to_string(in_lines_ ? panel.column : panel.row + i));
  svg.close();
}

void GridPlan::draw_brackets(SvgWriter& svg, const Panel& panel) const {
  const auto each = [](const Brackets& of, std::int64_t first, std::int64_t count, const auto& draw) {
    if (of.span == 0) return;
    for (std::int64_t tile = first / of.span; tile * of.span < first + count; ++tile)
      draw(static_cast<double>(std::max(tile * of.span, first) - first),
           static_cast<double>(std::min((tile + 1) * of.span, first + count) - first),
           of.labels[static_cast<std::size_t>(tile)]);
  };
  std::string lines;
  svg.open_text({heading_font_, kInk, Align::middle, true});
  each(column_brackets_, panel.column, panel.columns, [&](double from, double to, const std::string& label) {
    const double y = panel.y - heading_font_ - 8;
    lines += move_to(panel.x + from * cell_width_ + 2, y) + "H" + number_text(panel.x + to * cell_width_ - 2);
    svg.text(panel.x + (from + to) / 2 * cell_width_, y - 3, label);
  });
  svg.close();
  const double x = panel.x - row_heading_width() - 9;
  svg.open_text({heading_font_, kInk, Align::end, true});
  each(row_brackets_, panel.row, panel.rows, [&](double from, double to, const std::string& label) {
    lines +=
        move_to(x, panel.y + from * cell_height_ + 2) + "V" + number_text(panel.y + to * cell_height_ - 2);
    svg.text(x - 4, panel.y + (from + to) / 2 * cell_height_ + heading_font_ * 0.36, label);
  });
  svg.close();
  svg.path(lines, kQuietInk, 1);
}

void GridPlan::draw_cells(SvgWriter& svg) const {
  std::map<Colour, std::vector<std::tuple<double, double, const Cell*>>> by_colour;
  for (const Panel& panel : panels_)
    for (std::int64_t row = 0; row < panel.rows; ++row)
      for (std::int64_t column = 0; column < panel.columns; ++column) {
        const Cell& cell = grid_.at(panel.row + row, panel.column + column);
        by_colour[cell.fill].emplace_back(panel.x + static_cast<double>(column) * cell_width_,
                                          panel.y + static_cast<double>(row) * cell_height_, &cell);
      }
  svg.open_shapes("cells", has_text() ? "stroke=\"#8b929c\" stroke-width=\"0.5\""
                                      : "stroke=\"none\" shape-rendering=\"crispEdges\"");
  for (const auto& [colour, cells] : by_colour) {
    svg.open_shapes("fill", format_text("fill=\"{}\"", to_text(colour)));
    for (const auto& [x, y, cell] : cells)
      svg.rectangle(x, y, cell_width_, cell_height_,
                    grid_.cells.size() <= kMostTips ? std::string_view(cell->tip) : std::string_view());
    svg.close();
  }
  svg.close();
}

std::string GridPlan::tile_lines(const Panel& panel, std::int64_t every, bool of_rows) const {
  std::string steps;
  const std::int64_t first = of_rows ? panel.row : panel.column;
  const std::int64_t count = of_rows ? panel.rows : panel.columns;
  const double x = panel.x, y = panel.y;
  for (std::int64_t at = (first / every + 1) * every; at < first + count; at += every) {
    const auto offset = static_cast<double>(at - first);
    if (of_rows) {
      steps += move_to(x, y + offset * cell_height_) + "h" +
               number_text(static_cast<double>(panel.columns) * cell_width_);
    } else {
      steps += move_to(x + offset * cell_width_, y) + "v" +
               number_text(static_cast<double>(panel.rows) * cell_height_);
    }
  }
  return steps;
}

void GridPlan::draw_lines(SvgWriter& svg, const Panel& panel) const {
  const double scale = has_text() ? std::max(font_ / 12, 0.7) : 0.5;
  for (const bool of_rows : {true, false}) {
    const Axis& axis = of_rows ? grid_.rows : grid_.columns;
    std::int64_t every = 1;
    for (std::size_t i = 0; i + 1 < axis.extents.size(); ++i) {
      every *= axis.extents[i];
      const double width = (1.6 + 1.2 * static_cast<double>(std::min<std::size_t>(i, 3))) * scale;
      svg.path(tile_lines(panel, every, of_rows), kInk, width);
    }
  }
  const double wide = static_cast<double>(panel.columns) * cell_width_;
  const double high = static_cast<double>(panel.rows) * cell_height_;
  svg.path(move_to(panel.x, panel.y) + "h" + number_text(wide) + "v" + number_text(high) + "h" +
               number_text(-wide) + "z",
           kInk, 1.2);
}

void GridPlan::draw_outlines(SvgWriter& svg, bool alarm) const {
  std::string steps;
  for (const Panel& panel : panels_) {
    const auto owner = [&](std::int64_t row, std::int64_t column) {
      const bool inside = row >= 0 && row < panel.rows && column >= 0 && column < panel.columns;
      return inside ? grid_.at(panel.row + row, panel.column + column).owner : -1;
    };
    for (std::int64_t row = 0; row < panel.rows; ++row)
      for (std::int64_t column = 0; column < panel.columns; ++column) {
        const Cell& cell = grid_.at(panel.row + row, panel.column + column);
        if (cell.owner < 0 || cell.alarm != alarm) continue;
        const double x = panel.x + static_cast<double>(column) * cell_width_;
        const double y = panel.y + static_cast<double>(row) * cell_height_;
        const std::string right = "h" + number_text(cell_width_), down = "v" + number_text(cell_height_);
        if (owner(row - 1, column) != cell.owner) steps += move_to(x, y) + right;
        if (owner(row + 1, column) != cell.owner) steps += move_to(x, y + cell_height_) + right;
        if (owner(row, column - 1) != cell.owner) steps += move_to(x, y) + down;
        if (owner(row, column + 1) != cell.owner) steps += move_to(x + cell_width_, y) + down;
      }
  }
  const double scale = has_text() ? std::max(font_ / 12, 0.6) : 0.5;
  svg.path(steps, alarm ? kAlarm : kInk, (alarm ? 3 : 1.6) * scale);
}

void GridPlan::draw_texts(SvgWriter& svg) const {
  struct Placed {
    double x, y;
    const std::string* text;
  };
  std::map<TextStyle, std::vector<Placed>> by_style;
  for (const Panel& panel : panels_)
    for (std::int64_t row = 0; row < panel.rows; ++row)
      for (std::int64_t column = 0; column < panel.columns; ++column) {
        const Cell& cell = grid_.at(panel.row + row, panel.column + column);
        const double x = panel.x + (static_cast<double>(column) + 0.5) * cell_width_;
        const double y = panel.y + (static_cast<double>(row) + 0.5) * cell_height_;
        const Colour colour = cell.quiet ? kQuietInk : text_on(cell.fill);
        const double up = cell.second.empty() ? 0 : font_ * 0.55;
        if (!cell.first.empty())
          by_style[{font_, colour, Align::middle}].push_back({x, y - up + font_ * 0.36, &cell.first});
        if (!cell.second.empty())
          by_style[{font_ * 0.85, colour, Align::middle}].push_back({x, y + font_ * 0.9, &cell.second});
      }
  for (const auto& [style, texts] : by_style) {
    svg.open_text(style);
    for (const Placed& placed : texts) svg.text(placed.x, placed.y, *placed.text);
    svg.close();
  }
}

}  // namespace gpuforge::layout
