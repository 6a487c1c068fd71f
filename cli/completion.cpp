#include "cli/completion.h"

#include "gpuforge/base/format.h"

namespace gpuforge::cli {
namespace {

std::vector<const Command*> listed(std::span<const Command* const> commands) {
  std::vector<const Command*> out;
  for (const Command* command : commands) {
    if (!command->hidden) out.push_back(command);
  }
  return out;
}

std::vector<Option> all_options(const Command& command) {
  std::vector<Option> out(command.options.begin(), command.options.end());
  const auto common = common_options();
  out.insert(out.end(), common.begin(), common.end());
  return out;
}

std::string words(std::span<const std::string_view> values) {
  std::string out;
  for (std::string_view value : values) out += (out.empty() ? "" : " ") + std::string(value);
  return out;
}

std::string names(const Command& command, std::string_view separator) {
  std::string out(command.name);
  for (std::string_view alias : command.aliases) out += std::string(separator) + std::string(alias);
  return out;
}

// Inside single quotes of any of the three shells.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// What zsh's _arguments gives a meaning to in a description or a message.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(std::span<const std::string_view> values, ValueKind kind) {
  if (!values.empty()) {
    std::string out = "(";
    for (std::string_view value : values) out += (out.size() == 1 ? "" : " ") + zsh_text(value);
    return out + ")";
  }
  switch (kind) {
    case ValueKind::file:
      return "_files";
    case ValueKind::folder:
      return "_files -/";
    case ValueKind::text:
      break;
  }
  return "";
}

// A case of bash that fills COMPREPLY after the option in $previous.
std::string bash_value_cases(const Command& command) {
  std::string out;
  for (const Option& option : all_options(command)) {
    if (option.value.empty() || option.value_optional) continue;
    std::string label = "--" + std::string(option.name);
    if (option.short_name != 0) label += std::string("|-") + option.short_name;
    std::string action = ":";
    if (!option.values.empty()) {
      action = "_gpuforge_words " + shell_quoted(words(option.values));
    } else if (option.kind == ValueKind::file) {
      action = "_gpuforge_paths -f";
    } else if (option.kind == ValueKind::folder) {
      action = "_gpuforge_paths -d";
    }
    out += format_text("        {}) {}; return ;;\n", label, action);
  }
  return out;
}

}  // namespace

std::string bash_completion(std::span<const Command* const> commands) {
  std::string verbs;
  std::string cases;
  for (const Command* command : listed(commands)) {
    verbs += (verbs.empty() ? "" : " ") + std::string(command->name);
    std::string options;
    for (const Option& option : all_options(*command)) options += " --" + std::string(option.name);
    std::string positionals = ":";
    if (!command->positionals.empty()) {
      const Positional& first = command->positionals.front();
      if (!first.values.empty()) {
        positionals = "_gpuforge_words " + shell_quoted(words(first.values));
      } else if (first.kind != ValueKind::text) {
        positionals = "_gpuforge_paths -f";
      }
    }
    cases += format_text("    {})\n      case \"$previous\" in\n{}      esac\n", names(*command, "|"),
                         bash_value_cases(*command));
    cases += format_text("      if [[ $current == -* ]]; then _gpuforge_words {}; else {}; fi ;;\n",
                         shell_quoted(options.substr(1)), positionals);
  }
  // ':' ends a word for bash (cuda:0), so what stands before it is cut from the answers.
  return R"(# bash completion for gpuforge; in ~/.bashrc: source <(gpuforge completion bash)
_gpuforge_words() {
  local IFS=$' \t\n' cut
  COMPREPLY=($(compgen -W "$1" -- "$current"))
  cut=${current%"${current##*:}"}
  if [[ -n $cut && $COMP_WORDBREAKS == *:* ]]; then COMPREPLY=("${COMPREPLY[@]#"$cut"}"); fi
}
_gpuforge_paths() {
  local IFS=$'\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen "$1" -- "$current"))
}
_gpuforge() {
  local current previous verb word line
  line=${COMP_LINE:0:COMP_POINT}
  current=${line##*[[:space:]]}
  line=${line%"$current"}
  read -r -a line <<<"$line"
  previous=${line[${#line[@]}-1]}
  if [[ $current == --*=* ]]; then previous=${current%%=*}; current=${current#*=}; fi
  COMPREPLY=()
  for word in "${line[@]:1}"; do
    if [[ $word != -* ]]; then verb=$word; break; fi
  done
  case "$verb" in
)" + cases +
         format_text(
             "    '') if [[ $current == -* ]]; then _gpuforge_words '--help --version'; "
             "else _gpuforge_words {}; fi ;;\n",
             shell_quoted(verbs)) +
         "  esac\n}\ncomplete -F _gpuforge gpuforge\n";
}

std::string zsh_completion(std::span<const Command* const> commands) {
  std::string verbs;
  std::string cases;
  for (const Command* command : listed(commands)) {
    verbs +=
        format_text("    {}\n", shell_quoted(std::string(command->name) + ":" + zsh_text(command->summary)));
    cases += format_text("    {})\n      _arguments \\\n", names(*command, "|"));
    for (const Option& option : all_options(*command)) {
      const std::string body =
          "[" + zsh_text(option.help) + "]" +
          (option.value.empty() || option.value_optional
               ? std::string()
               : ":" + zsh_text(option.value) + ":" + zsh_action(option.values, option.kind));
      const std::string star = option.repeatable ? "*" : "";
      const std::string equals = option.value.empty() || option.value_optional ? "" : "=";
      cases += format_text("        {} \\\n",
                           shell_quoted(star + "--" + std::string(option.name) + equals + body));
      if (option.short_name != 0) {
        cases += format_text("        {} \\\n", shell_quoted(star + "-" + option.short_name + body));
      }
    }
    if (command->positionals.empty()) {
      cases += "        && return ;;\n";
      continue;
    }
    const Positional& first = command->positionals.front();
    cases += format_text("        {} ;;\n",
                         shell_quoted(std::string(first.repeatable ? "*" : "1") + ":" + zsh_text(first.name) +
                                      ":" + zsh_action(first.values, first.kind)));
  }
  return "#compdef gpuforge\n# zsh completion for gpuforge; gpuforge completion zsh > a folder of "
         "$fpath/_gpuforge\n"
         "_gpuforge() {\n  local curcontext=\"$curcontext\" state line\n  local -a verbs\n  verbs=(\n" +
         verbs +
         "  )\n  _arguments -C '(-h --help)'{-h,--help}'[help]' '--version[the version]' '1: :->verb' '*:: "
         ":->rest' && "
         "return\n"
         "  case $state in\n    verb) _describe -t verbs 'verb' verbs; return ;;\n  esac\n  case $line[1] "
         "in\n" +
         cases +
         "  esac\n}\nif [[ $funcstack[1] == _gpuforge ]]; then _gpuforge \"$@\"; else compdef _gpuforge "
         "gpuforge; fi\n";
}

std::string fish_completion(std::span<const Command* const> commands) {
  std::string out =
      "# fish completion for gpuforge; gpuforge completion fish > ~/.config/fish/completions/gpuforge.fish\n"
      "complete -c gpuforge -f\n"
      "complete -c gpuforge -n __fish_use_subcommand -l help -s h -d 'help'\n"
      "complete -c gpuforge -n __fish_use_subcommand -l version -d 'the version'\n";
  for (const Command* command : listed(commands)) {
    out += format_text("complete -c gpuforge -n __fish_use_subcommand -a {} -d {}\n", command->name,
                       shell_quoted(command->summary));
    const std::string when =
        format_text("complete -c gpuforge -n '__fish_seen_subcommand_from {}'", names(*command, " "));
    for (const Option& option : all_options(*command)) {
      out += format_text("{} -l {}", when, option.name);
      if (option.short_name != 0) out += std::string(" -s ") + option.short_name;
      if (!option.values.empty()) {
        out += " -x -a " + shell_quoted(words(option.values));
      } else if (option.kind == ValueKind::folder) {
        out += " -x -a '(__fish_complete_directories)'";
      } else if (!option.value.empty() && !option.value_optional) {
        out += option.kind == ValueKind::file ? " -r -F" : " -x";
      }
      out += " -d " + shell_quoted(option.help) + "\n";
    }
    if (command->positionals.empty()) continue;
    const Positional& first = command->positionals.front();
    if (!first.values.empty()) out += when + " -a " + shell_quoted(words(first.values)) + "\n";
    if (first.values.empty() && first.kind != ValueKind::text) out += when + " -F\n";
  }
  return out;
}

}  // namespace gpuforge::cli
