#include "cli/program.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <new>

#include "cli/help.h"
#include "cli/parse.h"
#include "cli/report.h"
#include "cli/session.h"
#include "cli/verbs.h"
#include "gpuforge/base/version.h"
#include "gpuforge/context/context.h"

namespace gpuforge::cli {
namespace {

// A standard file that is closed would be the next file we open, and be read or written as that. Open the
// wrong way round it stays in use, and using it fails.
void hold_standard_files() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(number, F_GETFD) < 0) ::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

bool use_color(ColorChoice choice, bool is_terminal) {
  return choice == ColorChoice::always || (choice == ColorChoice::automatic && is_terminal);
}

// Where kernels are cached when neither a flag, the environment nor a file says.
std::optional<std::filesystem::path> default_cache_dir(Environment environment) {
  environment.cache_dir.reset();
  return gpuforge::jit_options(environment).cache_dir;
}

int run_verb(Session& session, const Invocation& invocation) {
  if (invocation.command->needs_settings) {
    std::error_code no_folder;
    const std::filesystem::path here = std::filesystem::current_path(no_folder);
    session.settings = resolve_settings(invocation, session.environment, no_folder ? "/" : here,
                                        default_cache_dir(session.environment));
    session.style = Style(use_color(session.settings.color, session.terminal.out_is_terminal));
    session.messages.set_color(use_color(session.settings.color, session.terminal.err_is_terminal));
    session.messages.set_level(session.settings.log);
  }
  if (session.settings.cache_dir) {
    session.interrupts.add_cleanup(
        [folder = *session.settings.cache_dir] { remove_cache_temporaries(folder); });
  }
  // Warnings reach Messages even when they are not shown, since --strict counts them.
  session.log = std::make_shared<Log>(
      session.settings.log < LogLevel::warning ? session.settings.log : LogLevel::warning,
      [&messages = session.messages](LogLevel level, std::string_view text) { messages.write(level, text); });
  const int code = invocation.command->run(session, invocation);
  session.out.flush();
  if (code == kDone && session.settings.strict && session.messages.warnings() > 0) {
    session.messages.write(LogLevel::error, "strict: the warnings above count as errors");
    return kLacking;
  }
  return code;
}

int start(Session& session, std::span<const std::string> arguments, std::string& verb) {
  const Invocation invocation = parse_command_line(arguments, session.commands);
  if (invocation.command != nullptr) verb = invocation.command->name;
  session.json = invocation.has("json");
  session.tuning = !invocation.has("no-tuning");
  const ColorChoice color = color_without_files(invocation, session.environment);
  session.style = Style(use_color(color, session.terminal.out_is_terminal));
  session.messages.set_color(use_color(color, session.terminal.err_is_terminal));
  if (invocation.help) {
    const int columns = session.terminal.columns;
    session.out.write(invocation.command != nullptr
                          ? command_help(*invocation.command, columns, session.style)
                          : program_help(session.commands, columns, session.style));
  } else if (invocation.version) {
    session.out.line(format_text("gpuforge {}", version()));
  } else if (invocation.command == nullptr) {
    Output err(STDERR_FILENO);
    err.write(program_help(session.commands, session.terminal.columns, Style(false)));
    err.flush();
    return kBadInput;
  } else {
    return run_verb(session, invocation);
  }
  session.out.flush();
  return kDone;
}

}  // namespace

int run_program(std::span<const std::string> arguments) {
  hold_standard_files();
  const Terminal terminal = detect_terminal();
  Messages messages(terminal.err_is_terminal, false);
  InterruptWatcher interrupts;
  interrupts.add_cleanup([&messages] { messages.hide_progress(); });
  Output out(STDOUT_FILENO);
  Session session{.out = out,
                  .messages = messages,
                  .interrupts = interrupts,
                  .commands = all_commands(),
                  .environment = read_environment(),
                  .settings = {},
                  .terminal = terminal};
  std::string verb;
  for (const std::string& argument : arguments) {  // for errors of the command line itself
    const Command* command = find_command(session.commands, argument);
    if (command != nullptr && verb.empty()) verb = command->name;
  }
  // They are documents too, if one was asked for.
  const auto wants_json = [&] {
    if (session.json) return true;
    for (const std::string& argument : arguments) {
      if (argument == "--") break;
      if (argument == "--json") return true;
    }
    return false;
  };
  try {
    return start(session, arguments, verb);
  } catch (const ReaderGone&) {
    return kReaderGone;
  } catch (const Error& error) {
    try {
      return report_error(error, verb, wants_json(), out, messages);
    } catch (const ReaderGone&) {
      return kReaderGone;
    }
  } catch (const std::bad_alloc&) {
    messages.write(LogLevel::error, "out of memory: this machine refused the memory asked for");
    return kLacking;
  } catch (const std::exception& error) {
    messages.write(LogLevel::error,
                   format_text("unexpected: {}; this is a fault of gpuforge {}, please report it",
                               error.what(), version()));
    return kOurFault;
  }
}

}  // namespace gpuforge::cli
