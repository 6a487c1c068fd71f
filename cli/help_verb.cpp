// gpuforge help [VERB].
#include "cli/help.h"
#include "cli/report.h"
#include "cli/session.h"
#include "cli/verbs.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/suggest.h"

namespace gpuforge::cli {
namespace {

int run(Session& session, const Invocation& invocation) {
  const int columns = session.terminal.columns;
  if (invocation.positionals.empty()) {
    session.out.write(program_help(session.commands, columns, session.style));
    return kDone;
  }
  const std::string& wanted = invocation.positionals.front();
  const Command* command = find_command(session.commands, wanted);
  if (command == nullptr) {
    std::vector<std::string> known;
    for (const Command* each : session.commands) {
      if (!each->hidden) known.emplace_back(each->name);
    }
    throw Error(ErrorCode::invalid_argument,
                format_text("help: '{}' is not a verb{} (`gpuforge --help` lists them)", wanted,
                            did_you_mean(wanted, known)));
  }
  session.out.write(command_help(*command, columns, session.style));
  return kDone;
}

constexpr Positional kPositionals[] = {
    {.name = "VERB", .help = "the verb to explain; none: the list of them"}};
constexpr Example kExamples[] = {
    {.line = "gpuforge help compile", .meaning = "the same as gpuforge compile --help"}};

}  // namespace

const Command kHelpCommand = {
    .name = "help",
    .summary = "explain a verb, with examples",
    .usage = "[VERB]",
    .positionals = kPositionals,
    .examples = kExamples,
    .needs_settings = false,
    .run = run,
};

}  // namespace gpuforge::cli
