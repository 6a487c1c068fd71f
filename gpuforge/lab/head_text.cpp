// Finds the head among the comments of a source.
#include <algorithm>

#include "gpuforge/base/error.h"
#include "gpuforge/lab/kernel_head.h"

namespace gpuforge::lab {
namespace {

constexpr std::string_view kMarker = "gpuforge:";
constexpr std::string_view kBlanks = " \t\r\n\v\f";

struct Comment {
  std::vector<std::string_view> lines;  // without // and /* */
  int first_line = 1;
  bool block = false;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

// Goes through a source comment by comment; what stands in quotes is none.
class CommentReader {
 public:
  explicit CommentReader(std::string_view text) : text_(text) {}

  std::optional<Comment> next() {
    while (at_ < text_.size()) {
      const std::string_view two = text_.substr(at_, 2);
      if (two == "/*") return block();
      if (two == "//") return line_group();
      if (two[0] == '"' || two[0] == '\'') {
        skip_literal(two[0]);
      } else {
        step(1);
      }
    }
    return std::nullopt;
  }

 private:
  void step(std::size_t count) {
    const std::string_view passed = text_.substr(at_, count);
    line_ += static_cast<int>(std::count(passed.begin(), passed.end(), '\n'));
    at_ += passed.size();
  }

  void skip_literal(char quote) {
    step(1);
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') step(text_[at_] == '\\' ? 2 : 1);
    step(1);
  }

  Comment block() {
    const std::size_t end = std::min(text_.find("*/", at_ + 2), text_.size());
    Comment comment{lines_of(text_.substr(at_ + 2, end - at_ - 2)), line_, true};
    step(end + 2 - at_);
    return comment;
  }

  // Lines that follow each other with nothing before their //.
  Comment line_group() {
    Comment comment{{}, line_, false};
    while (true) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      comment.lines.push_back(text_.substr(at_ + 2, end - at_ - 2));
      step(end + 1 - at_);
      const std::size_t next = text_.find_first_not_of(" \t", at_);
      if (next == std::string_view::npos || text_.substr(next, 2) != "//") return comment;
      step(next - at_);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

// Lines of a block that each begin with a star lose it.
void remove_stars(std::vector<std::string_view>& lines) {
  const bool decorated = std::all_of(lines.begin(), lines.end(), [](std::string_view line) {
    return trimmed(line).empty() || trimmed(line).starts_with('*');
  });
  if (!decorated) return;
  for (std::string_view& line : lines) {
    if (!trimmed(line).empty()) line.remove_prefix(line.find('*') + 1);
  }
}

}  // namespace

HeadText find_head(std::string_view source, std::string_view name) {
  CommentReader reader(source);
  while (std::optional<Comment> comment = reader.next()) {
    std::vector<std::string_view>& lines = comment->lines;
    const auto first = std::find_if(lines.begin(), lines.end(), [](std::string_view line) {
      return !trimmed(line).empty() && trimmed(line) != "*";
    });
    if (first == lines.end()) continue;
    std::string_view marker = trimmed(*first);
    if (comment->block && marker.starts_with("*")) marker = trimmed(marker.substr(1));
    if (!marker.starts_with(kMarker)) continue;
    const int marker_line = comment->first_line + static_cast<int>(first - lines.begin());
    if (marker != kMarker) {
      throw Error(ErrorCode::parse, format_text("{}:{}: expected the line 'gpuforge:' alone, and the head's "
                                                "keys on the lines after it; found '{}'",
                                                name, marker_line, marker));
    }
    std::vector<std::string_view> body(first + 1, lines.end());
    if (comment->block) remove_stars(body);
    HeadText head;
    head.first_line = marker_line + 1;
    for (const std::string_view line : body) head.yaml += std::string(line) + "\n";
    return head;
  }
  throw Error(
      ErrorCode::parse,
      format_text("{}: there is no head: expected a comment whose first line is 'gpuforge:' (`gpuforge "
                  "new NAME` writes a file that has one)",
                  name));
}

}  // namespace gpuforge::lab
