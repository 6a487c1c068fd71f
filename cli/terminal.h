// What stands at the other end of stdout and stderr, and colour for those who can show it.
#pragma once

#include <string>
#include <string_view>

namespace gpuforge::cli {

struct Terminal {
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  int columns = 80;  // of stdout; 80 in a pipe
};
Terminal detect_terminal();

enum class Color { none, bold, dim, red, green, yellow };

// Text as it is, or between escape codes.
class Style {
 public:
  explicit Style(bool enabled) : enabled_(enabled) {}
  std::string operator()(Color color, std::string_view text) const;

 private:
  bool enabled_;
};

// Words of `text` in lines of at most `columns`, each indented by `indent`; a word longer than that stands
// alone. The first line is expected to start at column `first_column` already. Newlines in the text stay.
std::string wrap(std::string_view text, int columns, int indent, int first_column = 0);

}  // namespace gpuforge::cli
