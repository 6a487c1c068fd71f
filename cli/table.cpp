#include "cli/table.h"

#include <algorithm>

#include "gpuforge/base/error.h"

namespace gpuforge::cli {

Table::Table(std::vector<std::string> headings) : headings_(std::move(headings)) {
  for (std::string& heading : headings_) {
    right_.push_back(heading.starts_with('>'));
    if (right_.back()) heading.erase(0, 1);
  }
}

void Table::add_row(std::vector<std::string> cells) {
  GPUFORGE_ASSERT(cells.size() == headings_.size(), "table: a row of {} cells under {} headings",
                  cells.size(), headings_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < headings_.size(); ++i) {
    std::size_t width = headings_[i].size();
    for (const auto& row : rows_) width = std::max(width, row[i].size());
    widths.push_back(width);
  }
  std::string out;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += "  ";
      const std::string padding(widths[i] - cells[i].size(), ' ');
      line += right_[i] ? padding + cells[i] : cells[i] + padding;
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
  };
  add_line(headings_);
  for (const auto& row : rows_) add_line(row);
  return out;
}

std::string Table::markdown() const {
  std::string out;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) {
      out += "| ";
      for (const char c : cell) out += c == '|' ? std::string("\\|") : std::string(1, c);
      out += " ";
    }
    out += "|\n";
  };
  add_line(headings_);
  for (const bool right : right_) out += right ? "|---:" : "|---";
  out += "|\n";
  for (const auto& row : rows_) add_line(row);
  return out;
}

std::string Table::csv() const {
  std::string out;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) out += ",";
      const bool plain = cells[i].find_first_of(",\"\n") == std::string::npos;
      if (plain) {
        out += cells[i];
        continue;
      }
      out += '"';
      for (const char c : cells[i]) out += c == '"' ? std::string("\"\"") : std::string(1, c);
      out += '"';
    }
    out += "\n";
  };
  add_line(headings_);
  for (const auto& row : rows_) add_line(row);
  return out;
}

}  // namespace gpuforge::cli
