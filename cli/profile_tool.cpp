// gpuforge profile ncu|nsys|sanitizer: one of our own runs inside NVIDIA's tool.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "cli/profile_verbs.h"
#include "cli/report.h"
#include "gpuforge/base/child_process.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/suggest.h"
#include "gpuforge/lab/profiler.h"

namespace gpuforge::cli {
namespace {

constexpr std::string_view kFolder = "profiles";
constexpr std::chrono::seconds kTidyUp{30};  // after Ctrl-C: ncu still writes what it has

lab::Profiler profiler_named(std::string_view name) {
  for (const lab::Profiler profiler : lab::kProfilers)
    if (lab::facts(profiler).name == name) return profiler;
  throw Error(ErrorCode::internal, format_text("profile: no tool '{}'", name));
}

std::vector<std::string> verb_arguments(const Session& session, std::vector<std::string> arguments) {
  if (!arguments.empty() && arguments.front() == "gpuforge") arguments.erase(arguments.begin());
  GPUFORGE_CHECK(
      !arguments.empty(),
      "profile: after -- a verb of gpuforge was expected, such as `-- run kernel.cu ..`, found nothing");
  const std::string& verb = arguments.front();
  if (verb.starts_with('-') || find_command(session.commands, verb) != nullptr) return arguments;
  std::vector<std::string> known;
  for (const Command* command : session.commands)
    if (!command->hidden) known.emplace_back(command->name);
  throw Error(ErrorCode::invalid_argument,
              format_text("profile: after -- a verb of gpuforge was expected, found '{}'{}", verb,
                          did_you_mean(verb, known)));
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string command_text(const std::filesystem::path& tool, const lab::ProfilerCommand& command) {
  std::string text;
  for (const auto& [name, value] : command.environment) text += name + '=' + shell_word(value) + ' ';
  text += shell_word(tool.string());
  for (const std::string& argument : command.arguments) text += ' ' + shell_word(argument);
  return text;
}

void set_command(Json& json, const std::filesystem::path& tool, const lab::ProfilerCommand& command) {
  Json list = Json::array();
  list.push_back(tool.string());
  for (const std::string& argument : command.arguments) list.push_back(argument);
  json.set("command", std::move(list));
  Json environment = Json::object();
  for (const auto& [name, value] : command.environment) environment.set(name, value);
  json.set("environment", std::move(environment));
}

void make_folder(const std::filesystem::path& report) {
  const std::filesystem::path folder = report.parent_path();
  std::error_code failed;
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  if (failed)
    throw Error(ErrorCode::unavailable,
                format_text("profile: the folder {} cannot be made: {}", folder.string(), failed.message()));
}

ChildResult run_tool(Session& session, const std::filesystem::path& tool,
                     const lab::ProfilerCommand& command) {
  session.out.flush();
  for (const auto& [name, value] : command.environment) ::setenv(name.c_str(), value.c_str(), 0);
  // A document on stdout stays one: everything else goes to stderr.
  const int out = session.json ? STDERR_FILENO : STDOUT_FILENO;
  const auto child = std::make_shared<WatchedChild>(tool, command.arguments, out, STDERR_FILENO);
  session.interrupts.add_cleanup([child] { child->end(SIGINT, kTidyUp); });
  return child->wait();
}

int exit_code_of(const lab::ProfilerOutcome& outcome, const ChildResult& ending) {
  switch (outcome.verdict) {
    case lab::ProfilerVerdict::good:
      return kDone;
    case lab::ProfilerVerdict::program_failed:
      return outcome.code;
    case lab::ProfilerVerdict::errors_found:
      return kWrong;
    case lab::ProfilerVerdict::counters_barred:
    case lab::ProfilerVerdict::nothing_seen:
      return kLacking;
    case lab::ProfilerVerdict::tool_failed:
      break;
  }
  if (ending.end == ChildResult::End::crashed) return 128 + ending.code;
  // ncu writes unrecognised, compute-sanitizer unrecognized, nsys Unrecognized.
  return ending.out.find("nrecogni") != std::string::npos ? kBadInput : kLacking;
}

}  // namespace

int profile_with_tool(Session& session, const Invocation& invocation) {
  const lab::Profiler profiler = profiler_named(invocation.positionals.front());
  const lab::ProfilerFacts& facts = lab::facts(profiler);
  const bool extract = invocation.has("extract");
  GPUFORGE_CHECK(!extract || profiler == lab::Profiler::ncu,
                 "profile: --extract reads reports of ncu, not of {}", facts.name);
  const lab::ProfilerRequest request{.profiler = profiler,
                                     .options = invocation.passed,
                                     .kernel = invocation.value("kernel").value_or(""),
                                     .report = lab::report_path(kFolder, profiler, std::time(nullptr)),
                                     .program = executable_path(),
                                     .arguments = verb_arguments(session, invocation.behind)};
  const lab::ProfilerCommand command = lab::profiler_command(request);
  const auto found = lab::find_profiler(profiler, session.environment);
  const std::filesystem::path tool = found.value_or(facts.program);
  if (invocation.has("dry-run")) {
    if (session.json) {
      Json json = document("profile");
      set_command(json, tool, command);
      session.out.document(json);
    } else {
      session.out.line(command_text(tool, command));
    }
    return kDone;
  }
  if (!found) {
    if (!session.json) show_without_profiler(session, request.arguments);
    throw Error(ErrorCode::unavailable,
                format_text("profile: {} is neither on PATH nor where NVIDIA's packages put it; {}",
                            facts.program, facts.fix));
  }

  make_folder(command.report);
  const ChildResult ending = run_tool(session, tool, command);
  const lab::ProfilerOutcome outcome = lab::judge(profiler, ending, ending.out);
  if (profiler == lab::Profiler::sanitizer) write_result(session, command.report, ending.out);
  std::error_code failed;
  const bool has_report = std::filesystem::exists(command.report, failed);
  int code = exit_code_of(outcome, ending);
  if (!outcome.sentence.empty()) session.messages.write(LogLevel::error, "profile: " + outcome.sentence);
  if (code == kLacking && !session.json) show_without_profiler(session, request.arguments);
  if (has_report) session.messages.note(format_text("report: {}", command.report.string()));

  Json json = document("profile");
  json.set("tool", tool.string());
  set_command(json, tool, command);
  json.set("report", has_report ? Json(command.report.string()) : Json());
  json.set("problem", outcome.sentence);
  if (extract && has_report) {
    lab::NcuReport report = open_ncu_report(session, command.report);
    if (!request.kernel.empty()) lab::keep_kernel(report, request.kernel);
    json.set("launches", ncu_report_json(report));
    if (!session.json) session.out.write("\n" + ncu_report_text(report));
  }
  if (session.json) session.out.document(json);
  return code;
}

}  // namespace gpuforge::cli
