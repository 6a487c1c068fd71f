// Room cli: one program, one file per verb. A verb is data: the tables below are what the parser reads, what
// --help prints, what the shells complete and what "did you mean" looks through.
//   command, parse, help, completion            the tables and everything made from them
//   output, terminal, table, progress           what a person or a pipe sees
//   settings, config_file                       flag > environment > project's file > user's file
//   launch_argument, element_source             the text of `run --arg` and the elements it stands for
//   layout_report, layout_table, layout_lines   what `layout` prints, and its lines from stdin
//   bench_request, bench_report, bench_page     what `bench` was asked, and how its results are shown
//   profile_verbs.h and profile_*               the parts of `profile`
//   interrupt                                   signals
//   lab_session, check_request, check_report    ops and device of the lab; what `check` is asked and shows
//   verbs.h and a file per verb                 doctor, devices, compile, run, new, ops, check, bench,
//   profile, sched,
//                                               layout, cache,
//   completion, help, version
// It parses and prints; what is decided is decided in the library.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuforge::cli {

class Invocation;
struct Session;

// What a shell offers where a value is expected and `values` is empty.
enum class ValueKind { text, file, folder };

struct Option {
  std::string_view name = {};  // without the dashes
  char short_name = 0;
  std::string_view value = {};  // placeholder in the help; empty: a switch
  std::string_view help = {};
  bool repeatable = false;
  std::span<const std::string_view> values = {};  // offered by completion
  bool only_values = false;                       // anything else is an error
  ValueKind kind = ValueKind::text;
  bool value_optional = false;  // only --flag=value gives it one; --flag alone is empty
};

struct Positional {
  std::string_view name = {};
  std::string_view help = {};
  bool required = false;
  bool repeatable = false;
  std::span<const std::string_view> values = {};
  bool only_values = false;
  ValueKind kind = ValueKind::text;
};

struct Example {
  std::string_view line = {};
  std::string_view meaning = {};
};

struct Command {
  std::string_view name = {};
  std::span<const std::string_view> aliases = {};
  std::string_view summary = {};      // one line, for the list of verbs
  std::string_view usage = {};        // after "gpuforge NAME"
  std::string_view description = {};  // paragraphs after the usage, wrapped to the terminal
  std::span<const Positional> positionals = {};
  std::span<const Option> options = {};
  std::span<const Example> examples = {};
  // For a verb that starts other programs: once its first positional is one of `passing_after`, options but
  // these and words are kept for the other program, and all behind `--` for what that runs.
  std::span<const std::string_view> passing_after = {};
  std::span<const std::string_view> passing_options = {};
  bool hidden = false;                                // ours: not listed, not completed
  bool needs_settings = true;                         // false: works whatever the configuration files say
  int (*run)(Session&, const Invocation&) = nullptr;  // the exit code
};

// Options every verb takes.
std::span<const Option> common_options();
// By name or alias; nullptr when there is none.
const Command* find_command(std::span<const Command* const> commands, std::string_view name);

// What was typed, checked against a Command's tables.
class Invocation {
 public:
  const Command* command = nullptr;  // nullptr: no verb was given
  bool help = false;
  bool version = false;
  std::vector<std::string> positionals;
  std::vector<std::string> passed;  // for the other program, in order
  std::vector<std::string> behind;  // what stood behind `--`

  bool has(std::string_view option) const;
  std::optional<std::string> value(std::string_view option) const;  // the last one given
  std::vector<std::string> values(std::string_view option) const;
  void add(std::string_view option, std::string value) { given_.emplace_back(option, std::move(value)); }

 private:
  std::vector<std::pair<std::string, std::string>> given_;
};

}  // namespace gpuforge::cli
