// Columns of text for people, aligned, without colour of their own.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gpuforge::cli {

class Table {
 public:
  // A column whose heading starts with '>' is aligned to the right (the sign is not printed).
  explicit Table(std::vector<std::string> headings);
  void add_row(std::vector<std::string> cells);
  bool is_right(std::size_t column) const { return right_[column]; }
  bool empty() const { return rows_.empty(); }
  const std::vector<std::string>& headings() const { return headings_; }
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }
  std::string text() const;  // with a final newline
  std::string markdown() const;
  std::string csv() const;  // RFC 4180, lines end with \n

 private:
  std::vector<std::string> headings_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace gpuforge::cli
