// --help, made from the tables: no line is longer than the terminal is wide.
#pragma once

#include <span>
#include <string>

#include "cli/command.h"
#include "cli/terminal.h"

namespace gpuforge::cli {

struct Labelled {
  std::string label;
  std::string text;
};
// Labels left, text right; a label too long for its column has its text on the next line.
std::string two_columns(const std::vector<Labelled>& rows, int columns);

std::string command_help(const Command& command, int columns, const Style& style);
std::string program_help(std::span<const Command* const> commands, int columns, const Style& style);

// A command line in lines of at most `columns`, broken at blanks outside quotes with a backslash, so that it
// can be pasted as it stands.
std::string wrap_command_line(std::string_view line, int columns, int indent);

}  // namespace gpuforge::cli
