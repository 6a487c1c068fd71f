#include "cli/parse.h"

#include <algorithm>

#include "gpuforge/base/error.h"
#include "gpuforge/base/suggest.h"

namespace gpuforge::cli {
namespace {

std::vector<std::string> texts(std::span<const std::string_view> views) {
  return {views.begin(), views.end()};
}

std::string joined(std::span<const std::string_view> values) {
  std::string out;
  for (std::string_view value : values) out += (out.empty() ? "" : ", ") + std::string(value);
  return out;
}

class Parser {
 public:
  Parser(std::span<const std::string> arguments, std::span<const Command* const> commands)
      : arguments_(arguments), commands_(commands) {}

  Invocation parse() {
    if (asks_for_help()) return help_invocation();
    for (; at_ < arguments_.size(); ++at_) {
      const std::string& token = arguments_[at_];
      if (passes_on()) {
        take_passing(token);
      } else if (options_ended_ || token.size() < 2 || token[0] != '-') {
        take_positional(token);
      } else if (token == "--") {
        options_ended_ = true;
      } else if (token[1] == '-') {
        take_long(token.substr(2));
      } else {
        take_short(token);
      }
    }
    if (invocation_.command != nullptr && !invocation_.help) check_positionals();
    return std::move(invocation_);
  }

 private:
  static bool contains(std::span<const std::string_view> values, std::string_view value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  }

  bool passes_on() const {
    return invocation_.command != nullptr && !invocation_.positionals.empty() &&
           contains(invocation_.command->passing_after, invocation_.positionals.front());
  }

  void take_passing(const std::string& token) {
    if (options_ended_) {
      invocation_.behind.push_back(token);
    } else if (token == "--") {
      options_ended_ = true;
    } else if (token.starts_with("--") &&
               contains(invocation_.command->passing_options, token.substr(2, token.find('=') - 2))) {
      take_long(token.substr(2));
    } else {
      invocation_.passed.push_back(token);
    }
  }

  // Someone who asks for help gets it, whatever else the line says.
  bool asks_for_help() const {
    for (const std::string& token : arguments_) {
      if (token == "--") return false;
      if (token == "--help" || token == "-h") return true;
    }
    return false;
  }

  Invocation help_invocation() const {
    Invocation found;
    found.help = true;
    constexpr std::string_view kColor = "--color";
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const std::string& token = arguments_[i];
      if (found.command == nullptr) found.command = find_command(commands_, token);
      // The one option that help itself goes by.
      if (token == kColor && i + 1 < arguments_.size()) found.add("color", arguments_[i + 1]);
      if (token.starts_with("--color=")) found.add("color", token.substr(kColor.size() + 1));
    }
    return found;
  }

  // How a message starts: with the verb, once it is known.
  std::string who() const {
    return invocation_.command == nullptr ? std::string() : std::string(invocation_.command->name) + ": ";
  }
  std::string help_hint() const {
    return invocation_.command == nullptr
               ? "`gpuforge --help` lists the verbs"
               : format_text("see `gpuforge {} --help`", invocation_.command->name);
  }

  std::vector<const Option*> known_options() const {
    std::vector<const Option*> all;
    if (invocation_.command != nullptr) {
      for (const Option& option : invocation_.command->options) all.push_back(&option);
    }
    for (const Option& option : common_options()) all.push_back(&option);
    return all;
  }

  const Option* find_long(std::string_view name) const {
    for (const Option* option : known_options()) {
      if (option->name == name) return option;
    }
    return nullptr;
  }

  void take_positional(const std::string& token) {
    if (invocation_.command != nullptr) {
      invocation_.positionals.push_back(token);
      return;
    }
    invocation_.command = find_command(commands_, token);
    if (invocation_.command != nullptr) {
      seen_.clear();
      return;
    }
    std::vector<std::string> known;
    for (const Command* command : commands_) {
      if (command->hidden) continue;
      known.emplace_back(command->name);
      for (std::string_view alias : command->aliases) known.emplace_back(alias);
    }
    throw Error(ErrorCode::invalid_argument,
                format_text("'{}' is not a verb{} ({})", token, did_you_mean(token, known), help_hint()));
  }

  void take_long(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (name == "version" && invocation_.command == nullptr) {
      invocation_.version = true;
      return;
    }
    const Option* option = find_long(name);
    if (option == nullptr) {
      std::vector<std::string> known;
      for (const Option* each : known_options()) known.push_back("--" + std::string(each->name));
      throw Error(ErrorCode::invalid_argument, format_text("{}unknown option '--{}'{} ({})", who(), name,
                                                           did_you_mean("--" + name, known), help_hint()));
    }
    if (equals != std::string::npos) {
      GPUFORGE_CHECK(!option->value.empty(), "{}--{} is a switch and takes no value, but '{}' was given",
                     who(), name, text.substr(equals + 1));
      record(*option, text.substr(equals + 1));
    } else {
      const bool alone = option->value.empty() || option->value_optional;
      record(*option, alone ? std::string() : next_value(*option, "--" + name));
    }
  }

  void take_short(const std::string& token) {
    for (std::size_t i = 1; i < token.size(); ++i) {
      const Option* option = nullptr;
      for (const Option* each : known_options()) {
        if (each->short_name == token[i]) option = each;
      }
      if (option == nullptr) {
        throw Error(ErrorCode::invalid_argument,
                    format_text("{}unknown option '-{}' in '{}' ({})", who(), token[i], token, help_hint()));
      }
      if (option->value.empty()) {
        record(*option, {});
        continue;
      }
      std::string rest = token.substr(i + 1);
      if (rest.starts_with('=')) rest.erase(0, 1);
      record(*option, i + 1 < token.size() ? rest : next_value(*option, std::string("-") + token[i]));
      return;
    }
  }

  // A value that looks like one of our options was most likely forgotten; --flag=--value says it is meant.
  std::string next_value(const Option& option, const std::string& shown) {
    const bool is_last = at_ + 1 >= arguments_.size();
    const std::string next = is_last ? std::string() : arguments_[at_ + 1];
    const bool is_option =
        next == "--" || (next.starts_with("--") && find_long(next.substr(2, next.find('=') - 2)));
    GPUFORGE_CHECK(!is_last && !is_option, "{}{} needs a value, {}{}", who(), shown, option.value,
                   is_last ? std::string() : format_text(", but '{}' follows", next));
    ++at_;
    return next;
  }

  void record(const Option& option, std::string value) {
    if (option.name == "help") {  // joined with others: -qh
      invocation_.help = true;
      return;
    }
    // A switch twice is harmless, and a common option after the verb overrides one before it.
    if (!option.repeatable && !option.value.empty()) {
      const bool twice = std::find(seen_.begin(), seen_.end(), option.name) != seen_.end();
      GPUFORGE_CHECK(!twice, "{}--{} is given twice, which of them is meant?", who(), option.name);
      seen_.push_back(option.name);
    }
    if (option.only_values) check_value("--" + std::string(option.name), value, option.values);
    invocation_.add(option.name, std::move(value));
  }

  void check_value(const std::string& what, const std::string& value,
                   std::span<const std::string_view> values) const {
    if (std::find(values.begin(), values.end(), value) != values.end()) return;
    throw Error(ErrorCode::invalid_argument,
                format_text("{}{} is one of {}, but '{}' was given{}", who(), what, joined(values), value,
                            did_you_mean(value, texts(values))));
  }

  void check_positionals() const {
    const auto& table = invocation_.command->positionals;
    std::size_t at = 0;
    for (const Positional& positional : table) {
      GPUFORGE_CHECK(!positional.required || at < invocation_.positionals.size(), "{}{} is missing ({})",
                     who(), positional.name, help_hint());
      std::size_t take = positional.repeatable ? invocation_.positionals.size() - at : 1;
      for (; take > 0 && at < invocation_.positionals.size(); --take, ++at) {
        if (positional.only_values) {
          check_value(std::string(positional.name), invocation_.positionals[at], positional.values);
        }
      }
    }
    GPUFORGE_CHECK(at == invocation_.positionals.size(), "{}'{}' is one argument too many ({})", who(),
                   invocation_.positionals[at], help_hint());
  }

  std::span<const std::string> arguments_;
  std::span<const Command* const> commands_;
  std::size_t at_ = 0;
  bool options_ended_ = false;
  std::vector<std::string_view> seen_;
  Invocation invocation_;
};

}  // namespace

Invocation parse_command_line(std::span<const std::string> arguments,
                              std::span<const Command* const> commands) {
  return Parser(arguments, commands).parse();
}

}  // namespace gpuforge::cli
