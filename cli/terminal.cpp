#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace gpuforge::cli {

Terminal detect_terminal() {
  Terminal terminal;
  terminal.out_is_terminal = ::isatty(STDOUT_FILENO) == 1;
  terminal.err_is_terminal = ::isatty(STDERR_FILENO) == 1;
  winsize size{};
  if (terminal.out_is_terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.columns = std::max<int>(size.ws_col, 20);
  }
  return terminal;
}

std::string Style::operator()(Color color, std::string_view text) const {
  if (!enabled_ || color == Color::none) return std::string(text);
  const char* code = "0";
  switch (color) {
    case Color::none:
      break;
    case Color::bold:
      code = "1";
      break;
    case Color::dim:
      code = "2";
      break;
    case Color::red:
      code = "31";
      break;
    case Color::green:
      code = "32";
      break;
    case Color::yellow:
      code = "33";
      break;
  }
  return std::string("\x1b[") + code + "m" + std::string(text) + "\x1b[0m";
}

std::string wrap(std::string_view text, int columns, int indent, int first_column) {
  const auto width = static_cast<std::size_t>(std::max(columns, indent + 8));
  std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string out;
  std::size_t column = static_cast<std::size_t>(first_column);
  bool at_start = true;
  if (first_column < indent) {
    out.append(static_cast<std::size_t>(indent - first_column), ' ');
    column = margin.size();
  }
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '\n') {
      while (!out.empty() && out.back() == ' ') out.pop_back();
      // Blanks that begin a line of the text indent all of it.
      const std::size_t next = std::min(text.find_first_not_of(' ', at + 1), text.size());
      margin = std::string(static_cast<std::size_t>(indent) + next - at - 1, ' ');
      out += "\n" + margin;
      column = margin.size();
      at_start = true;
      at = next;
      continue;
    }
    if (text[at] == ' ') {
      ++at;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!at_start && column + 1 + word.size() > width) {
      out += "\n" + margin;
      column = margin.size();
      at_start = true;
    }
    if (!at_start) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    at_start = false;
    at = end;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace gpuforge::cli
