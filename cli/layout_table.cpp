#include "cli/layout_table.h"

#include <algorithm>

#include "gpuforge/base/error.h"

namespace gpuforge::cli {
namespace {

using layout::Integer;
using layout::IntTuple;
using layout::Layout;
using layout::OffsetLayout;
using layout::SwizzledLayout;
using layout::TupleView;
using layout::Value;

constexpr std::int64_t kMostCells = std::int64_t{1} << 20;

class Grid {
 public:
  explicit Grid(const Value& value) {
    if (const auto* const part = std::get_if<OffsetLayout>(&value.is)) {
      any_ = part->layout;
      offset_ = part->offset;
    } else if (const auto* const swizzled = std::get_if<SwizzledLayout>(&value.is)) {
      any_ = *swizzled;
    } else if (const auto* const layout = std::get_if<Layout>(&value.is)) {
      any_ = *layout;
    } else if (const auto* const composed = std::get_if<layout::ComposedLayout>(&value.is)) {
      any_ = *composed;
    } else {
      const auto* const tuple = std::get_if<IntTuple>(&value.is);
      throw Error(ErrorCode::invalid_argument,
                  format_text("layout: --table shows a layout, found {}{}", to_text(value),
                              tuple != nullptr && tuple->is_tuple()
                                  ? "; make_layout(..) is the compact layout of a shape"
                                  : ""));
    }
    const auto* const swizzled = std::get_if<SwizzledLayout>(&any_);
    const Layout& plain = layout::expect_domain(any_);
    is_tuple_ = plain.shape().is_tuple();
    Integer cells = 1;
    for (const TupleView mode : plain.shape().view()) {
      sizes_.push_back(layout::product(mode).value());
      cells = cells * layout::product(mode);
    }
    const bool known = cells.known() && layout::cosize(plain).known() && offset_.known() &&
                       (swizzled == nullptr || swizzled->offset.known()) &&
                       (!std::holds_alternative<layout::ComposedLayout>(any_) ||
                        to_text(any_).find('?') == std::string::npos);
    GPUFORGE_CHECK(known, "layout: --table needs known sizes and strides, found {}; bind names with --let",
                   to_text(any_));
    GPUFORGE_CHECK(cells.value() <= kMostCells,
                   "layout: --table shows at most {} cells, but {} has {}; take a tile or a slice of it",
                   kMostCells, to_text(any_), cells.value());
  }

  const std::vector<std::int64_t>& sizes() const { return sizes_; }

  std::int64_t index(std::span<const std::int64_t> coordinate) const {
    if (coordinate.empty()) return offset_.value();
    layout::TupleBuilder builder;
    if (is_tuple_) builder.open();
    for (const std::int64_t one : coordinate) builder.add(Integer(one));
    if (is_tuple_) builder.close();
    const IntTuple at = builder.take();
    return (offset_ + crd2idx(at, any_)).value();
  }

 private:
  layout::Mapping any_;
  Integer offset_ = 0;
  bool is_tuple_ = false;
  std::vector<std::int64_t> sizes_;  // of the modes
};

Json nested(const Grid& grid, std::vector<std::int64_t>& coordinate) {
  if (coordinate.size() == grid.sizes().size()) return grid.index(coordinate);
  Json::Array all;
  const std::int64_t size = grid.sizes()[coordinate.size()];
  for (std::int64_t i = 0; i < size; ++i) {
    coordinate.push_back(i);
    all.push_back(nested(grid, coordinate));
    coordinate.pop_back();
  }
  return all;
}

// A sheet has a heading over its columns, and a label before each row unless there is one row alone.
struct Sheet {
  std::vector<std::string> labels;
  std::vector<std::vector<std::int64_t>> rows;
};

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string sheet_text(const Sheet& sheet, std::size_t columns) {
  const std::size_t count = sheet.rows.empty() ? 0 : sheet.rows.front().size();
  std::size_t cell = std::to_string(count > 0 ? count - 1 : 0).size(), label = 0;
  for (const auto& row : sheet.rows)
    for (const std::int64_t index : row) cell = std::max(cell, std::to_string(index).size());
  for (const std::string& one : sheet.labels) label = std::max(label, one.size());
  const std::size_t margin = label == 0 ? 0 : label + 3;
  const std::size_t fit = columns > margin + cell ? (columns - margin) / (cell + 1) : 1;
  std::string out;
  for (std::size_t first = 0; first < count; first += fit) {
    const std::size_t end = std::min(count, first + fit);
    if (first > 0) out += "\n";
    std::string heading(margin, ' ');
    for (std::size_t j = first; j < end; ++j) heading += " " + padded(std::to_string(j), cell);
    out += heading + "\n" + std::string(label == 0 ? 1 : label + 1, ' ') + (label == 0 ? "" : "+") +
           std::string(heading.size() - (label == 0 ? 1 : label + 2), '-') + "\n";
    for (std::size_t i = 0; i < sheet.rows.size(); ++i) {
      if (label > 0) out += padded(sheet.labels[i], label) + " | ";
      for (std::size_t j = first; j < end; ++j) out += " " + padded(std::to_string(sheet.rows[i][j]), cell);
      out += "\n";
    }
  }
  return out;
}

}  // namespace

Json table_json(const Value& value) {
  std::vector<std::int64_t> coordinate;
  return nested(Grid(value), coordinate);
}

std::string table_text(const Value& value, int columns) {
  const Grid grid(value);
  const std::vector<std::int64_t>& sizes = grid.sizes();
  const auto width = static_cast<std::size_t>(columns);
  const std::size_t rank = sizes.size();
  if (rank == 0) return sheet_text({{}, {{grid.index({})}}}, width);
  std::vector<std::int64_t> at(rank, 0);
  const auto cells = [&](std::size_t mode) {
    std::vector<std::int64_t> row;
    for (at[mode] = 0; at[mode] < sizes[mode]; ++at[mode]) row.push_back(grid.index(at));
    return row;
  };
  if (rank == 1) return sheet_text({{}, {cells(0)}}, width);
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return "no coordinates\n";
  std::string out;
  // The modes after the second count like the digits of a number, the third one fastest.
  for (bool more = true; more;) {
    if (rank > 2) {
      out += out.empty() ? "(_,_" : "\n(_,_";
      for (std::size_t mode = 2; mode < rank; ++mode) out += "," + std::to_string(at[mode]);
      out += ")\n";
    }
    Sheet sheet;
    for (at[0] = 0; at[0] < sizes[0]; ++at[0]) {
      sheet.labels.push_back(std::to_string(at[0]));
      sheet.rows.push_back(cells(1));
    }
    out += sheet_text(sheet, width);
    std::size_t mode = 2;
    while (mode < rank && ++at[mode] == sizes[mode]) at[mode++] = 0;
    more = mode < rank;
  }
  return out;
}

}  // namespace gpuforge::cli
