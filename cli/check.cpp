// gpuforge check: ops against their references, over shapes, dtypes, variants and contents.
#include <chrono>
#include <span>

#include "cli/check_isolate.h"
#include "cli/check_report.h"
#include "cli/check_request.h"
#include "cli/device_json.h"
#include "cli/kernel_ops.h"
#include "cli/lab_session.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "gpuforge/base/quantity.h"

namespace gpuforge::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// On a terminal, from the second second on.
class ProgressBar {
 public:
  ProgressBar(Session& session, std::size_t total) : session_(session), total_(total) {}
  ~ProgressBar() { session_.messages.hide_progress(); }

  void show(std::size_t done, const CheckGroup& group) {
    if (!session_.messages.has_progress_line() || seconds_since(start_) < 1 || seconds_since(shown_) < 0.1)
      return;
    shown_ = Clock::now();
    constexpr std::size_t kCells = 20;
    const std::size_t full = done * kCells / std::max<std::size_t>(total_, 1);
    const std::string text =
        format_text("[{}{}] {}/{} {} {} {}", std::string(full, '#'), std::string(kCells - full, '.'), done,
                    total_, group.op, group.variant, name(group.dtype));
    session_.messages.show_progress(std::string_view(text).substr(
        0, static_cast<std::size_t>(std::max(session_.terminal.columns - 1, 1))));
  }

 private:
  Session& session_;
  const std::size_t total_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = start_;
};

// Lines of groups as they end; the results of all cases.
class Run {
 public:
  Run(Session& session, const lab::CheckPlan& plan)
      : session_(session), table_(plan, session.terminal.columns), bar_(session, plan.cases.size()) {
    if (!session_.json) print(table_.heading());
  }

  void add(const lab::CaseResult& result) {
    if (groups_.empty() || !groups_.back().takes(result.planned)) {
      end_group();
      groups_.push_back(CheckGroup::of(result.planned));
    }
    groups_.back().add(result);
    bar_.show(++done_, groups_.back());
  }

  void end_group() {
    if (groups_.empty() || session_.json) return;
    print(groups_.back().failed == 0 ? table_.line(groups_.back())
                                     : session_.style(Color::red, table_.line(groups_.back())));
  }

  const std::vector<CheckGroup>& groups() const { return groups_; }

 private:
  void print(const std::string& line) {
    session_.messages.hide_progress();
    session_.out.line(line);
    session_.out.flush();
  }

  Session& session_;
  CheckTable table_;
  ProgressBar bar_;
  std::vector<CheckGroup> groups_;
  std::size_t done_ = 0;
};

void say_what_is_left_out(Session& session, const lab::CheckPlan& plan) {
  for (const std::string& sentence : plan.left_out) session.messages.note("left out: " + sentence);
  if (plan.too_large > 0) {
    session.messages.note(
        format_text("{} cases of over {} elements are left to cuda and cpu, where they are quick",
                    plan.too_large, lab::kSimElements));
  }
}

void show_failures(Session& session, std::span<const lab::CaseResult> results,
                   const CheckArguments& arguments, std::string_view device) {
  const std::vector<const lab::CaseResult*> failures = telling_failures(results);
  std::string where = format_text(" --device {}", device);
  if (session.settings.kernel_dir)
    where += format_text(" --kernel-dir {}", session.settings.kernel_dir->string());
  for (std::size_t i = 0; i < std::min(failures.size(), arguments.failures); ++i) {
    session.out.write("\n" +
                      failure_text(*failures[i], arguments.request.seed, where, session.terminal.columns));
  }
  if (failures.size() > arguments.failures) {
    session.out.line(format_text("\n{} more failed; --failures {} shows all",
                                 failures.size() - arguments.failures, failures.size()));
  }
}

Json result_json(const lab::CheckPlan& plan, std::span<const lab::CaseResult> results,
                 std::span<const CheckGroup> groups, const CheckArguments& arguments,
                 const device::DeviceFacts& facts, std::size_t failed, double seconds) {
  Json json = document("check");
  json.set("device", device_json(facts));
  json.set("seed", arguments.request.seed);
  json.set("good", failed == 0);
  json.set("passed", std::uint64_t{results.size() - failed});
  json.set("failed", std::uint64_t{failed});
  json.set("seconds", seconds);
  json.set("too_large", std::uint64_t{plan.too_large});
  Json left_out = Json::array();
  for (const std::string& sentence : plan.left_out) left_out.push_back(sentence);
  json.set("left_out", std::move(left_out));
  Json group_list = Json::array();
  for (const CheckGroup& group : groups) group_list.push_back(group_json(group));
  json.set("groups", std::move(group_list));
  Json cases = Json::array();
  for (const lab::CaseResult& result : results) cases.push_back(case_json(result));
  json.set("cases", std::move(cases));
  return json;
}

// Any ops, wherever they come from. The exit code.
int check_ops(Session& session, std::span<const lab::Op> ops, const CheckArguments& arguments) {
  const auto start = Clock::now();
  // What cannot be planned is told before a device is looked for.
  lab::plan_checks(ops, arguments.request, device::DeviceKind::cpu);
  const std::shared_ptr<Context> context = open_lab_context(session);
  const device::DeviceFacts& facts = context->device().facts();
  prepare_kernel_files(ops, arguments.request, context);
  const lab::CheckPlan plan = lab::plan_checks(ops, arguments.request, facts.kind);
  const lab::CaseRunner isolated = isolated_runner(
      session, plan, arguments, session.settings.device.value_or(facts.name), arguments.time_limit);
  say_what_is_left_out(session, plan);
  std::vector<lab::CaseResult> results;
  std::vector<CheckGroup> groups;
  {
    Run run(session, plan);
    results = lab::run_checks(
        plan,
        [&](const lab::Op& op, const lab::CheckCase& which) {
          return arguments.isolate && !op.file.empty() ? isolated(op, which) : lab::check(op, which, context);
        },
        [&](const lab::CaseResult& result) { run.add(result); });
    run.end_group();
    groups = run.groups();
  }
  std::size_t failed = 0;
  for (const CheckGroup& group : groups) failed += group.failed;
  if (session.json) {
    session.out.document(result_json(plan, results, groups, arguments, facts, failed, seconds_since(start)));
    return failed == 0 ? kDone : kWrong;
  }
  show_failures(session, results, arguments, facts.name);
  const std::string total = format_text("{} of {} cases passed", results.size() - failed, results.size());
  session.out.line(wrap(format_text("\n{} on {} ({}), seed {}, {}", total, facts.name, facts.product,
                                    arguments.request.seed, show_ms(1000 * seconds_since(start))),
                        session.terminal.columns, 0));
  return failed == 0 ? kDone : kWrong;
}

int run(Session& session, const Invocation& invocation) {
  const CheckArguments arguments = read_check_arguments(invocation);
  return check_ops(session, resolve_ops(session, arguments.ops), arguments);
}

constexpr std::string_view kContents[] = {"normal", "zeros",      "constant", "huge",
                                          "tiny",   "infinities", "nans"};
constexpr std::string_view kPlacements[] = {"contiguous", "transposed", "spread", "shifted"};
constexpr Positional kPositionals[] = {
    {.name = "OP",
     .help = "an op that `gpuforge ops` lists, or a kernel file: FILE.cu, FILE.ptx",
     .repeatable = true,
     .kind = ValueKind::file}};
constexpr Option kOptions[] = {
    {.name = "all", .help = "every op"},
    {.name = "variant", .value = "NAME", .help = "this variant alone; several: a,b", .repeatable = true},
    {.name = "dtype", .value = "TYPE", .help = "this dtype alone; several: f16,f32", .repeatable = true},
    {.name = "shape",
     .value = "SHAPE",
     .help = "4096x1024, instead of the op's own list of shapes",
     .repeatable = true},
    {.name = "set",
     .value = "NAME=VALUE",
     .help = "an option of the op for every case: dim=0",
     .repeatable = true},
    {.name = "contents",
     .value = "NAME",
     .help = "these inputs alone: normal, zeros, constant, huge, tiny, infinities, nans",
     .repeatable = true,
     .values = kContents},
    {.name = "placement",
     .value = "NAME",
     .help = "these strides alone: contiguous, transposed, spread, shifted",
     .repeatable = true,
     .values = kPlacements},
    {.name = "seed", .value = "N", .help = "other random inputs; `random` for new ones (1)"},
    {.name = "no-tuning", .help = "choose configurations as if nothing had been tuned"},
    {.name = "quick", .help = "a few small shapes with random inputs only"},
    {.name = "no-isolate", .help = "run kernel files in this process, not in one of their own"},
    {.name = "time-limit", .value = "SECONDS", .help = "for a case of a kernel file (60)"},
    {.name = "failures", .value = "N", .help = "how many failures are shown in full (3)"},
};
constexpr Example kExamples[] = {
    {.line = "gpuforge check --all", .meaning = "everything, on the GPU or in the simulator"},
    {.line = "gpuforge check copy_transpose --variant naive --dtype f16 --shape 33x31",
     .meaning = "one variant on one shape"},
    {.line = "gpuforge check my_softmax.cu --device sim",
     .meaning = "a kernel of your own (`gpuforge new` writes one), every access checked"},
    {.line = "gpuforge check --all --quick --device sim --json",
     .meaning = "every case and output, for scripts"},
};

}  // namespace

const Command kCheckCommand = {
    .name = "check",
    .summary = "validate ops against their references, element by element",
    .usage = "OP|FILE.cu... | --all [--variant V] [--dtype T] [--shape S] [--set NAME=VALUE] [options]",
    .description =
        "Each case runs a variant twice on seeded random or hard inputs (zeros, huge, tiny, infinities, "
        "NaNs, "
        "constants; contiguous, transposed, spread and shifted views) and compares it with a plain loop in "
        "double, by an elementwise tolerance and by the norm (`gpuforge ops OP` shows them). Elements never "
        "written, changed inputs, writes beside the arrays and two runs that differ are failures as well; in "
        "the simulator so are bad accesses, races and values never written. The column 'error' is the "
        "largest "
        "error as a share of what is allowed.\n"
        "The device is cuda:0, else the simulator, else the cpu. Exit code 1: something failed.",
    .positionals = kPositionals,
    .options = kOptions,
    .examples = kExamples,
    .run = run,
};

}  // namespace gpuforge::cli
