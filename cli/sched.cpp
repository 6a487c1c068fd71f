// gpuforge sched: a workload file through the scheduler, on a device or on a virtual clock.
#include <filesystem>

#include "cli/report.h"
#include "cli/sched_kernels.h"
#include "cli/sched_report.h"
#include "cli/session.h"
#include "cli/verbs.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/trace.h"
#include "gpuforge/context/context.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/sched/run_workload.h"
#include "gpuforge/sched/simulate.h"

namespace gpuforge::cli {
namespace {

// On --device, else cuda:0, else cpu, which is a warning.
std::shared_ptr<Context> open_context(const Session& session) {
  const cuda::SearchOptions search = cuda::search_options(session.environment);
  std::string fallback;
  auto device = session.settings.device ? device::open_device(*session.settings.device, search)
                                        : device::open_default_device(search, &fallback);
  if (!fallback.empty()) session.log->warning("{}", fallback);
  ContextOptions options;
  options.jit = jit_options(session);
  options.log = session.log;
  return Context::make(std::move(device), std::move(options));
}

// A failure that the file does not speak about is one the user wants to know of.
bool has_unexpected_end(const sched::Workload& workload, const sched::RunReport& report) {
  if (!workload.expectations.empty()) return false;
  for (const sched::TaskReport& task : report.tasks) {
    if (task.status.state == sched::TaskState::failed || task.status.state == sched::TaskState::rejected)
      return true;
  }
  return false;
}

int run(Session& session, const Invocation& invocation) {
  const std::filesystem::path path = invocation.positionals.front();
  const sched::Workload workload = sched::read_workload(read_file(path), path.string());
  const sched::RunReport report = [&] {
    const Progress progress(session.messages, "running " + path.string());
    if (invocation.has("simulate")) return sched::simulate(workload);
    const std::shared_ptr<Context> context = open_context(session);
    return sched::run_workload(workload, context, step_kernels(session, context, path));
  }();
  const std::vector<std::string> problems = sched::unmet(workload, report);
  if (const auto trace = invocation.value("trace"))
    write_result(session, *trace, chrome_trace(trace_events(report)).dump() + "\n");
  if (session.json) {
    Json json = document("sched");
    const Json body = to_json(report, invocation.has("decisions"));
    for (const auto& [key, value] : body.as_object()) json.set(key, value);
    Json unmet = Json::array();
    for (const std::string& problem : problems) unmet.push_back(problem);
    json.set("expectations", std::uint64_t{workload.expectations.size()});
    json.set("unmet", std::move(unmet));
    session.out.document(json);
  } else {
    if (invocation.has("decisions"))
      session.out.write(decisions_text(report, session.terminal.columns) + "\n");
    session.out.write(sched_text(report, session.terminal.columns));
    if (!workload.expectations.empty() && problems.empty())
      session.out.line(format_text("all {} expectations are met", workload.expectations.size()));
    for (const std::string& problem : problems)
      session.out.line(wrap("not met: " + problem, session.terminal.columns, 0));
  }
  return !problems.empty() || has_unexpected_end(workload, report) ? kWrong : kDone;
}

constexpr Positional kPositionals[] = {{.name = "WORKLOAD.yaml",
                                        .help = "tasks and the kernels they run; docs/guide/scheduler.md",
                                        .required = true,
                                        .kind = ValueKind::file}};
constexpr Option kOptions[] = {
    {.name = "simulate", .help = "on a virtual clock, without any device: the same every time"},
    {.name = "trace",
     .value = "FILE",
     .help = "write what ran when, and every decision, for ui.perfetto.dev",
     .kind = ValueKind::file},
    {.name = "decisions", .help = "every decision with its reason and the numbers behind it"},
};
constexpr Example kExamples[] = {
    {.line = "gpuforge sched serving.yaml --simulate", .meaning = "who would run when, without a GPU"},
    {.line = "gpuforge sched serving.yaml --simulate --decisions", .meaning = "and why"},
    {.line = "gpuforge sched serving.yaml --device cuda:0 --trace serving.json",
     .meaning = "on the GPU, with a trace that Perfetto opens"},
};

}  // namespace

const Command kSchedCommand = {
    .name = "sched",
    .summary = "run a workload file through the scheduler, and see every decision",
    .usage = "WORKLOAD.yaml [--simulate] [--decisions] [--trace FILE] [--json]",
    .description =
        "A workload file has tasks of three classes (guaranteed, burstable, best_effort) with what they ask "
        "for (memory, compute and bandwidth shares), the kernels they run, and, if you like, partitions of "
        "the device and what you expect. The scheduler admits tasks or says why they wait, gives the device "
        "to one kernel after the other by class and by measured time, and takes loans of memory back for "
        "what is promised. Printed are the tasks with the share of the device's time each got while it "
        "wanted it and the latency of its requests, the partitions with each limit hard or soft, and how "
        "often each decision was made.\n"
        "Without --simulate kernels run on the device, each task on a stream of its own, with the time they "
        "took measured by events: stand-ins that spin or move bytes, ops of the library, and kernel files "
        "as check takes them. Exit code 1: an expectation of the "
        "file is not met or, where it has "
        "none, a task failed or was rejected.",
    .positionals = kPositionals,
    .options = kOptions,
    .examples = kExamples,
    .run = run,
};

}  // namespace gpuforge::cli
