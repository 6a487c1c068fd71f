// gpuforge doctor: what is here, what is missing, what that costs and how to get it. Works with nothing
// installed.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cli/doctor_libraries.h"
#include "cli/finding.h"
#include "cli/report.h"
#include "cli/session.h"
#include "cli/verbs.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/lab/profiler.h"

namespace gpuforge::cli {
namespace {

void check_profilers(const Session& session, Findings& findings) {
  for (const lab::Profiler profiler : lab::kProfilers) {
    const lab::ProfilerFacts& facts = lab::facts(profiler);
    if (const auto path = lab::find_profiler(profiler, session.environment)) {
      findings.push_back({"profilers", Status::pass, path->string(), {}, {}});
    } else {
      findings.push_back(
          {"profilers", Status::warn,
           format_text("{} is neither on PATH nor where NVIDIA's packages put it", facts.program),
           std::string(facts.costs), std::string(facts.fix)});
    }
  }
}

void check_cache(const Session& session, Findings& findings) {
  const std::string costs = "every kernel is compiled anew in every process";
  if (!session.settings.cache_dir) {
    findings.push_back({"cache", Status::warn, "no cache folder, since HOME is not set", costs,
                        "set GPUFORGE_CACHE_DIR or pass --cache-dir"});
    return;
  }
  const std::filesystem::path& folder = *session.settings.cache_dir;
  const std::string fix = "name another folder with --cache-dir or GPUFORGE_CACHE_DIR";
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  std::error_code ignored;
  if (std::filesystem::exists(folder, ignored) && !std::filesystem::is_directory(folder, ignored)) {
    findings.push_back(
        {"cache", Status::warn, format_text("{} is a file, not a folder", folder.string()), costs, fix});
    return;
  }
  try {
    const std::filesystem::path probe = folder / format_text(".gpuforge-doctor-{}", ::getpid());
    write_file(probe, "can this be written?");
    std::filesystem::remove(probe, ignored);
  } catch (const Error& error) {
    findings.push_back({"cache", Status::warn,
                        format_text("{} is of no use: {}", folder.string(), error.message()), costs, fix});
    return;
  }
  jit::Jit jit(jit_options(session), std::make_shared<Log>());
  std::uint64_t bytes = 0;
  const auto entries =
      jit.disk_cache() != nullptr ? jit.disk_cache()->list() : std::vector<jit::CacheEntry>{};
  for (const auto& entry : entries) bytes += entry.bytes;
  findings.push_back({"cache",
                      Status::pass,
                      format_text("{}, writable, {} {}, {} of {}", folder.string(), entries.size(),
                                  entries.size() == 1 ? "entry" : "entries", show_bytes(bytes),
                                  show_bytes(session.settings.cache_limit_bytes)),
                      {},
                      {}});
}

Json findings_json(const Findings& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    Json json = Json::object();
    json.set("section", finding.section);
    json.set("status", name(finding.status));
    json.set("text", finding.text);
    json.set("costs", finding.costs);
    json.set("fix", finding.fix);
    list.push_back(std::move(json));
  }
  return list;
}

void print_findings(Session& session, const Findings& findings) {
  constexpr int kIndent = 8;
  std::string section;
  for (const Finding& finding : findings) {
    if (finding.section != section) {
      section = finding.section;
      session.out.line(session.style(Color::bold, section));
    }
    const Color color = finding.status == Status::pass   ? Color::green
                        : finding.status == Status::warn ? Color::yellow
                        : finding.status == Status::fail ? Color::red
                                                         : Color::dim;
    const auto print = [&](const std::string& text) {
      session.out.line(wrap(text, session.terminal.columns, kIndent, 0));
    };
    session.out.write("  " + session.style(color, name(finding.status)) + "  ");
    session.out.line(wrap(finding.text, session.terminal.columns, kIndent, kIndent));
    if (!finding.costs.empty()) print("costs: " + finding.costs);
    if (!finding.fix.empty()) print("to get it: " + finding.fix);
  }
}

void print_settings(Session& session) {
  const auto print = [&](const std::string& text) {
    session.out.line("  " + wrap(text, session.terminal.columns, 4, 4));
  };
  session.out.line(session.style(Color::bold, "settings"));
  for (const SettingOrigin& origin : session.settings.origins) {
    print(format_text("{}: {} ({})", origin.key, origin.value, origin.source));
  }
  session.out.line(session.style(Color::bold, "environment"));
  for (const EnvironmentEntry& entry : environment_table()) {
    const auto& value = session.environment.*entry.value;
    const std::string shown = value ? "=" + *value : std::string(" is not set");
    print(format_text("{}{}  ({})", entry.name, shown, entry.meaning));
  }
}

Json settings_json(const Session& session) {
  Json list = Json::array();
  for (const SettingOrigin& origin : session.settings.origins) {
    Json json = Json::object();
    json.set("key", origin.key);
    json.set("value", origin.value);
    json.set("source", origin.source);
    list.push_back(std::move(json));
  }
  return list;
}

Json environment_json(const Session& session) {
  Json list = Json::array();
  for (const EnvironmentEntry& entry : environment_table()) {
    const auto& value = session.environment.*entry.value;
    Json json = Json::object();
    json.set("name", entry.name);
    json.set("value", value ? Json(*value) : Json());
    json.set("meaning", entry.meaning);
    list.push_back(std::move(json));
  }
  return list;
}

std::size_t count(const Findings& findings, Status status) {
  return static_cast<std::size_t>(std::count_if(
      findings.begin(), findings.end(), [&](const Finding& finding) { return finding.status == status; }));
}

int run(Session& session, const Invocation&) {
  Findings findings = check_libraries(session);
  check_profilers(session, findings);
  check_cache(session, findings);
  const std::size_t broken = count(findings, Status::fail);
  const std::size_t lacking = count(findings, Status::warn);
  if (session.json) {
    Json json = document("doctor");
    json.set("findings", findings_json(findings));
    json.set("warnings", std::uint64_t{lacking});
    json.set("failures", std::uint64_t{broken});
    json.set("settings", settings_json(session));
    json.set("environment", environment_json(session));
    session.out.document(json);
  } else {
    print_findings(session, findings);
    print_settings(session);
    session.out.line(
        format_text("\n{} good, {} missing, {} broken", count(findings, Status::pass), lacking, broken));
  }
  return broken > 0 || (session.settings.strict && lacking > 0) ? kLacking : kDone;
}

constexpr std::string_view kAliases[] = {"env-check"};
constexpr Example kExamples[] = {
    {.line = "gpuforge doctor", .meaning = "the report for people"},
    {.line = "gpuforge doctor --json --strict",
     .meaning = "for scripts: exit code 3 when anything is missing"},
};

}  // namespace

std::string_view name(Status status) {
  switch (status) {
    case Status::pass:
      return "PASS";
    case Status::info:
      return "INFO";
    case Status::warn:
      return "WARN";
    case Status::fail:
      return "FAIL";
  }
  return "?";
}

Finding missing(std::string section, Status status, std::string_view message, std::string costs) {
  const std::size_t end = std::min(message.find("; "), message.size());
  Finding finding{std::move(section), status, std::string(message.substr(0, end)), std::move(costs), {}};
  if (end < message.size()) finding.fix = message.substr(end + 2);
  return finding;
}

const Command kDoctorCommand = {
    .name = "doctor",
    .aliases = kAliases,
    .summary = "what this machine has, what is missing, and how to get it",
    .usage = "[--strict] [--json]",
    .description =
        "Looks for the driver, GPUs, NVRTC, headers, cuBLASLt, profilers and the cache, and puts a tiled "
        "transpose through all that is there. CUDA is started in a child process with a limit of 10 s, so "
        "that a driver that hangs or crashes becomes a line of the report. Exit code 0 when nothing is "
        "broken; 3 when something is, or with --strict when something is missing.",
    .examples = kExamples,
    .run = run,
};

}  // namespace gpuforge::cli
