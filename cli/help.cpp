#include "cli/help.h"

#include <algorithm>

#include "gpuforge/base/format.h"
#include "gpuforge/base/version.h"

namespace gpuforge::cli {
namespace {

constexpr int kWidest = 110;  // longer lines are hard to read

std::string option_label(const Option& option) {
  std::string label =
      option.short_name != 0 ? std::string("-") + option.short_name + ", " : std::string("    ");
  label += "--" + std::string(option.name);
  if (option.value_optional) {
    label += format_text("[={}]", option.value);
  } else if (!option.value.empty()) {
    label += " " + std::string(option.value);
  }
  return label;
}

std::vector<Labelled> option_rows(std::span<const Option> options) {
  std::vector<Labelled> rows;
  for (const Option& option : options) {
    rows.push_back(
        {option_label(option), std::string(option.help) + (option.repeatable ? " (repeatable)" : "")});
  }
  return rows;
}

std::string examples_text(std::span<const Example> examples, int columns) {
  std::string out;
  for (const Example& example : examples) {
    if (!example.meaning.empty()) out += wrap("# " + std::string(example.meaning), columns, 2) + "\n";
    out += wrap_command_line(example.line, columns, 2) + "\n";
  }
  return out;
}

constexpr Example kProgramExamples[] = {
    {.line = "gpuforge doctor", .meaning = "what this machine has, and what is missing"},
    {.line = "gpuforge compile saxpy.cu --arch sm_90a",
     .meaning = "registers, spills, shared memory and occupancy, with no GPU"},
};

}  // namespace

std::string two_columns(const std::vector<Labelled>& rows, int columns) {
  std::size_t longest = 0;
  for (const Labelled& row : rows) longest = std::max(longest, row.label.size());
  const int column = std::min(static_cast<int>(longest) + 4, columns < 70 ? 24 : 30);
  std::string out;
  for (const Labelled& row : rows) {
    out += "  " + row.label;
    int at = static_cast<int>(row.label.size()) + 2;
    if (at + 2 > column) {
      out += "\n";
      at = 0;
    }
    out += wrap(row.text, columns, column, at) + "\n";
  }
  return out;
}

std::string wrap_command_line(std::string_view line, int columns, int indent) {
  const auto width = static_cast<std::size_t>(columns);
  std::vector<std::string> words(1);
  char quote = 0;
  for (char c : line) {
    // An option stays with its value: a blank after -x or --x does not break.
    const std::string& word = words.back();
    const bool after_option = word.starts_with('-') && word.find(' ') == std::string::npos;
    if (quote == 0 && c == ' ' && !after_option) {
      words.emplace_back();
      continue;
    }
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    }
    words.back() += c;
  }
  std::string out;
  std::string current(static_cast<std::size_t>(indent), ' ');
  bool empty = true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t after = i + 1 < words.size() ? 2 : 0;  // room for " \"
    if (!empty && current.size() + 1 + words[i].size() + after > width) {
      out += current + " \\\n";
      current = std::string(static_cast<std::size_t>(indent) + 2, ' ');
      empty = true;
    }
    if (!empty) current += ' ';
    current += words[i];
    empty = false;
  }
  return out + current;
}

std::string command_help(const Command& command, int columns, const Style& style) {
  columns = std::min(columns, kWidest);
  std::string out = wrap(format_text("gpuforge {}: {}", command.name, command.summary), columns, 0) + "\n\n";
  out += style(Color::bold, "Usage:") + "\n";
  const std::string start = format_text("  gpuforge {}", command.name);
  out += start + " " + wrap(command.usage, columns, 4, static_cast<int>(start.size()) + 1) + "\n";
  if (!command.aliases.empty()) {
    std::string aliases;
    for (std::string_view alias : command.aliases)
      aliases += (aliases.empty() ? "" : ", ") + std::string(alias);
    out += "  Also called: " + aliases + "\n";
  }
  if (!command.description.empty()) out += "\n" + wrap(command.description, columns, 0) + "\n";
  if (!command.positionals.empty()) {
    std::vector<Labelled> rows;
    for (const Positional& each : command.positionals)
      rows.push_back({std::string(each.name), std::string(each.help)});
    out += "\n" + style(Color::bold, "Arguments:") + "\n" + two_columns(rows, columns);
  }
  if (!command.options.empty()) {
    out += "\n" + style(Color::bold, "Options:") + "\n" + two_columns(option_rows(command.options), columns);
  }
  out += "\n" + style(Color::bold, "Options of every verb:") + "\n" +
         two_columns(option_rows(common_options()), columns);
  if (!command.examples.empty()) {
    out += "\n" + style(Color::bold, "Examples:") + "\n" + examples_text(command.examples, columns);
  }
  return out;
}

std::string program_help(std::span<const Command* const> commands, int columns, const Style& style) {
  columns = std::min(columns, kWidest);
  std::string out =
      wrap(format_text("gpuforge {}: write a GPU kernel, prove it right, know how fast it is, and ship it",
                       version()),
           columns, 0) +
      "\n\n";
  out += style(Color::bold, "Usage:") + "\n  gpuforge VERB [arguments] [options]\n\n" +
         style(Color::bold, "Verbs:") + "\n";
  std::vector<Labelled> rows;
  for (const Command* command : commands) {
    if (!command->hidden) rows.push_back({std::string(command->name), std::string(command->summary)});
  }
  out += two_columns(rows, columns);
  out +=
      "\n" +
      wrap(
          "`gpuforge VERB --help` explains one verb with examples. Data goes to stdout, talk to stderr. Exit "
          "codes: 0 done; 1 what was asked about is wrong; 2 bad usage or input; 3 the machine lacks "
          "something; 4 a fault of gpuforge.",
          columns, 0) +
      "\n\n" + style(Color::bold, "Examples:") + "\n" + examples_text(kProgramExamples, columns);
  return out;
}

}  // namespace gpuforge::cli
