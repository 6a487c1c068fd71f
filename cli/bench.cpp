// gpuforge bench: how fast the ops are, beside what the device could do, and whether that has changed.
#include "cli/bench_history.h"
#include "cli/bench_isolate.h"
#include "cli/bench_page.h"
#include "cli/bench_report.h"
#include "cli/kernel_ops.h"
#include "cli/lab_session.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "gpuforge/device/open_device.h"

namespace gpuforge::cli {
namespace {

std::shared_ptr<Context> make_context(const Session& session, std::shared_ptr<device::Device> device) {
  ContextOptions options;
  options.jit = jit_options(session);
  options.log = session.log;
  options.tuning = tuning_for(session, device->facts());
  options.allocator = allocator_for(session.environment, device);
  return Context::make(std::move(device), std::move(options));
}

// The device that was named; else cuda:0, else the simulator, else, where nothing compiles kernels, the CPU.
std::shared_ptr<Context> open_context(const Session& session) {
  const cuda::SearchOptions search = cuda::search_options(session.environment);
  const Progress progress(session.messages, "opening the device");
  if (session.settings.device)
    return make_context(session, device::open_device(*session.settings.device, search));
  std::string fallback;
  auto context = make_context(session, device::open_default_kernel_device(search, &fallback));
  if (!fallback.empty()) session.log->warning("{}", fallback);
  if (context->device().facts().kind != device::DeviceKind::sim) return context;
  try {
    context->jit().compiles_with_clang();
    return context;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unavailable) throw;
    session.log->warning("Falling back to the CPU: {}", error.message());
    return make_context(session, device::open_device("cpu", search));
  }
}

std::string progress_text(std::size_t done, std::size_t all, const lab::BenchCase& which) {
  constexpr std::size_t kWidth = 20;
  const std::size_t filled = all > 0 ? done * kWidth / all : kWidth;
  return format_text("[{}{}] {}/{} {}", std::string(filled, '#'), std::string(kWidth - filled, '.'), done + 1,
                     all, to_string(which));
}

// Which compiler the kernels came from, once they did.
std::string compiler_of(const BenchReport& report) {
  for (const BenchRow& row : report.rows) {
    for (const lab::KernelFacts& kernel : row.result.kernels) {
      if (!kernel.compiler.empty()) return kernel.compiler;
    }
  }
  return {};
}

BenchReport measure_all(Session& session, const BenchRequest& request,
                        const std::optional<Baseline>& baseline) {
  const auto context = open_context(session);
  BenchReport report;
  report.device = context->device().facts();
  if (baseline) check_baseline(*baseline, report.device);
  std::optional<lab::Ceilings> ceilings;
  if (report.device.kind == device::DeviceKind::cuda) ceilings.emplace(context, request.measure);
  lab::LastWorked last;
  for (const lab::BenchCase& which : request.cases) {
    const Progress progress(session.messages, progress_text(report.rows.size(), request.cases.size(), which));
    report.rows.push_back({request.isolate
                               ? bench_isolated(session, request, which, report.device.name)
                               : lab::bench(request.ops.find(which.op)->second, which, context,
                                            request.measure, ceilings ? &*ceilings : nullptr, last)});
  }
  report.compiler = compiler_of(report);
  return report;
}

Json history_json(const std::vector<HistoryPoint>& points) {
  Json list = Json::array();
  for (const HistoryPoint& point : points) {
    Json json = Json::object();
    json.set("time", point.time);
    json.set("commit", point.commit);
    json.set("case", point.which);
    json.set("p50_ms", point.p50_ms);
    json.set("gb_per_s", point.gb_per_s);
    list.push_back(std::move(json));
  }
  return list;
}

void print(Session& session, const BenchRequest& request, const BenchReport& report,
           const std::vector<HistoryPoint>& earlier) {
  if (session.json) {
    Json json = bench_document(request, report);
    if (request.history) json.set("history", history_json(earlier));
    session.out.document(json);
    return;
  }
  const Table table = bench_table(report);
  const std::string note = what_the_numbers_are(report);
  if (request.csv) {
    session.out.write(bench_csv(report));
    if (!note.empty()) session.messages.note(note);
    return;
  }
  if (!note.empty()) session.out.line(note + (request.markdown ? "\n" : ""));
  session.out.write(request.markdown ? table.markdown() : table.text());
  if (request.explain) {
    session.out.write("\n" + bench_choices(report, request.markdown ? 0 : session.terminal.columns));
  }
  for (const BenchRow& row : report.rows) {
    const auto& measurement = row.result.measurement;
    if (measurement && !measurement->note.empty()) {
      session.messages.note(format_text("{}: {}", to_string(row.result.which), measurement->note));
    }
  }
  for (const std::string& which : report.gone) session.out.line("only in the baseline: " + which);
}

// The exit code, and why it is not 0.
int judge(Session& session, const BenchRequest& request, const BenchReport& report) {
  int code = kDone;
  for (const BenchRow& row : report.rows) {
    if (!row.result.good()) {
      session.messages.write(LogLevel::error,
                             format_text("{} failed: {}", to_string(row.result.which), row.result.failure));
      code = kWrong;
    } else if (request.fail_on_regression && row.change && row.change->verdict == lab::Verdict::slower) {
      session.messages.write(
          LogLevel::error,
          format_text("{} became slower by {:.1f} % (between {:.1f} and {:.1f})", to_string(row.result.which),
                      (row.change->ratio - 1) * 100, (row.change->interval.low - 1) * 100,
                      (row.change->interval.high - 1) * 100));
      code = kWrong;
    }
  }
  return code;
}

// What was kept of the same cases before; this run is then kept as well.
std::vector<HistoryPoint> keep_history(Session& session, const BenchReport& report) {
  if (!session.settings.cache_dir) {
    throw Error(ErrorCode::unavailable,
                "bench: --history needs a folder to keep it in; give --cache-dir DIR");
  }
  BenchHistory history(*session.settings.cache_dir / "bench_history.sqlite");
  std::vector<HistoryPoint> points;
  for (const BenchRow& row : report.rows) {
    const auto earlier = history.find(report.device.product, to_string(row.result.which));
    points.insert(points.end(), earlier.begin(), earlier.end());
  }
  const auto held = session.interrupts.hold();
  history.add(report);
  return points;
}

void print_history(Session& session, const BenchReport& report, const std::vector<HistoryPoint>& points) {
  if (report.device.kind == device::DeviceKind::sim) {
    session.messages.note("there is no history of the simulator's counts: they do not change by themselves");
  } else if (points.empty()) {
    session.messages.note("no earlier results of these cases; this run is kept");
  }
  if (session.json || points.empty()) return;
  Table table({"earlier", "commit", "case", ">median", ">GB/s"});
  for (const HistoryPoint& point : points) {
    table.add_row({point.time, point.commit, point.which, show_time(point.p50_ms),
                   format_text("{:.1f}", point.gb_per_s)});
  }
  session.out.write("\n" + table.text());
}

int run(Session& session, const Invocation& invocation) {
  const BenchRequest request = read_bench_request(
      invocation, [&](const std::string& name) { return resolve_ops(session, std::span(&name, 1)).front(); },
      ops::Backends());
  std::optional<Baseline> baseline;
  if (request.baseline) baseline = read_baseline(*request.baseline);
  BenchReport report = measure_all(session, request, baseline);
  if (baseline) compare_with_baseline(*baseline, request.least_change, report);
  if (request.save) write_result(session, *request.save, bench_document(request, report).dump(2) + "\n");
  const std::vector<HistoryPoint> points =
      request.history ? keep_history(session, report) : std::vector<HistoryPoint>{};
  if (request.page) write_result(session, *request.page, bench_page(request, report, points));
  print(session, request, report, points);
  if (request.history) print_history(session, report, points);
  session.out.flush();
  return judge(session, request, report);
}

constexpr Positional kPositionals[] = {{.name = "OP",
                                        .help = "an op or a kernel file, as with --op",
                                        .repeatable = true,
                                        .kind = ValueKind::file}};
constexpr Example kExamples[] = {
    {.line = "gpuforge bench --suite smoke", .meaning = "one case of each op, verified and measured"},
    {.line = "gpuforge bench --op copy_transpose --sizes 4096,8191x8193 --dtypes f16,f32 --variant all",
     .meaning = "every variant, on these shapes"},
    {.line = "gpuforge bench my_softmax.cu --sizes 4096x8192",
     .meaning = "a kernel of your own, in a process of its own"},
    {.line = "gpuforge bench --op softmax_online --sizes 64x4096,4096x8192 --explain",
     .meaning = "which configuration each shape gets, and why"},
    {.line = "gpuforge bench --suite reduce_sum_long --compare base.json --fail-on-regression",
     .meaning = "exit 1 when a case became slower; base.json is from --save"},
};

}  // namespace

const Command kBenchCommand = {
    .name = "bench",
    .summary = "measure ops: time, bandwidth, share of what the device can do, and what changed",
    .usage = "[--suite NAME | OP|FILE.cu .. [--sizes LIST]] [options]",
    .description =
        "Every case is compared with its reference before it is timed; one that fails is a failed row and "
        "exit code "
        "1. On a GPU the time is the median over replays of a graph of many calls, whose operands rotate "
        "through "
        "more memory than the cache holds; beside it stands the share of what a plain kernel reaches that "
        "moves as "
        "many bytes in the same proportion of reads and writes, measured in the same run. On cpu the times "
        "are the "
        "CPU's; on sim there are counts instead. --compare goes by the spread of eight repetitions in each "
        "run: "
        "slower means slower by more than 2 % with 99.9 % confidence. Beside other libraries: python -m "
        "gpuforge.bench --peers torch,triton.",
    .positionals = kPositionals,
    .options = bench_options(),
    .examples = kExamples,
    .run = run,
};

}  // namespace gpuforge::cli
