// gpuforge completion bash|zsh|fish.
#include "cli/completion.h"
#include "cli/report.h"
#include "cli/session.h"
#include "cli/verbs.h"

namespace gpuforge::cli {
namespace {

int run(Session& session, const Invocation& invocation) {
  const std::string& shell = invocation.positionals.front();
  const std::string script = shell == "bash"  ? bash_completion(session.commands)
                             : shell == "zsh" ? zsh_completion(session.commands)
                                              : fish_completion(session.commands);
  if (session.json) {
    Json json = document("completion");
    json.set("shell", shell);
    json.set("script", script);
    session.out.document(json);
  } else {
    session.out.write(script);
  }
  return kDone;
}

constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};
constexpr Positional kPositionals[] = {
    {.name = "SHELL", .help = "bash, zsh or fish", .required = true, .values = kShells, .only_values = true}};
constexpr Example kExamples[] = {
    {.line = "source <(gpuforge completion bash)",
     .meaning = "this bash; put it into ~/.bashrc for every one"},
    {.line = "gpuforge completion fish > ~/.config/fish/completions/gpuforge.fish",
     .meaning = "fish, for good"},
};

}  // namespace

const Command kCompletionCommand = {
    .name = "completion",
    .summary = "print a completion script for a shell",
    .usage = "bash|zsh|fish",
    .positionals = kPositionals,
    .examples = kExamples,
    .needs_settings = false,
    .run = run,
};

}  // namespace gpuforge::cli
