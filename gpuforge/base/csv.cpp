#include "gpuforge/base/csv.h"

#include <utility>

namespace gpuforge {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  CsvTable read() {
    while (at_ < text_.size()) {
      CsvRow row;
      do row.push_back(field());
      while (take(','));
      take('\r');
      take('\n');
      if (row.size() > 1 || !row.front().empty() || quoted_) table_.rows.push_back(std::move(row));
    }
    return std::move(table_);
  }

 private:
  bool take(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool at_line_end() const {
    return text_[at_] == '\n' || (text_[at_] == '\r' && (at_ + 1 == text_.size() || text_[at_ + 1] == '\n'));
  }

  std::string field() {
    quoted_ = take('"');
    std::string value = quoted_ ? inside_quotes() : std::string();
    while (at_ < text_.size() && text_[at_] != ',' && !at_line_end()) value += text_[at_++];
    return value;
  }

  std::string inside_quotes() {
    std::string value;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c != '"') {
        value += c;
      } else if (!take('"')) {
        return value;
      } else {
        value += '"';
      }
    }
    table_.cut_off = true;
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool quoted_ = false;  // the last field stood in quotes
  CsvTable table_;
};

}  // namespace

CsvTable parse_csv(std::string_view text) {
  return Reader(text).read();
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos && !text.empty()) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace gpuforge
