#include "cli/check_isolate.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "cli/check_report_json.h"
#include "cli/kernel_ops.h"
#include "cli/lab_session.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "gpuforge/base/child_process.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/quantity.h"

namespace gpuforge::cli {
namespace {

// Ends the process when a case takes longer than it may, after a line that says so.
class CaseTimer {
 public:
  CaseTimer(Session& session, std::chrono::seconds limit)
      : session_(session), limit_(limit), thread_([this] { watch(); }) {}
  ~CaseTimer() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  CaseTimer(const CaseTimer&) = delete;
  CaseTimer& operator=(const CaseTimer&) = delete;

  void begin_case() {
    const std::lock_guard lock(mutex_);
    deadline_ = std::chrono::steady_clock::now() + limit_;
    changed_.notify_one();
  }
  void end_case() {
    const std::lock_guard lock(mutex_);
    deadline_.reset();
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!done_) {
      if (!deadline_) {
        changed_.wait(lock);
      } else if (changed_.wait_until(lock, *deadline_) == std::cv_status::timeout && deadline_ &&
                 std::chrono::steady_clock::now() >= *deadline_ && !done_) {
        Json line = Json::object();
        line.set("timed_out", true);
        session_.out.line(line.dump());
        session_.out.flush();
        // Whatever the kernel hangs in, no destructor waits for it.
        std::_Exit(kWrong);
      }
    }
  }

  Session& session_;
  const std::chrono::seconds limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  bool done_ = false;
  std::thread thread_;
};

std::string listed(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ",") + item;
  return text;
}

std::vector<std::string> child_arguments(const Session& session, const lab::Op& op,
                                         const lab::CheckRequest& request, const std::string& device,
                                         std::size_t skip, std::chrono::seconds limit) {
  std::vector<std::string> arguments = {std::string(kCheckCasesCommand.name),
                                        op.file.string(),
                                        "--quiet",
                                        "--device=" + device,
                                        format_text("--skip={}", skip),
                                        format_text("--time-limit={}", limit.count()),
                                        format_text("--seed={}", request.seed)};
  if (request.quick) arguments.emplace_back("--quick");
  if (!session.tuning) arguments.emplace_back("--no-tuning");
  if (!request.variants.empty()) arguments.push_back("--variant=" + listed(request.variants));
  for (const DType dtype : request.dtypes) arguments.push_back(format_text("--dtype={}", name(dtype)));
  for (const Shape& shape : request.shapes) arguments.push_back("--shape=" + lab::shape_text(shape));
  for (const auto& [option, value] : request.options)
    arguments.push_back(format_text("--set={}={}", option, value));
  for (const lab::Contents contents : request.contents)
    arguments.push_back(format_text("--contents={}", lab::name(contents)));
  for (const lab::Placement placement : request.placements)
    arguments.push_back(format_text("--placement={}", lab::name(placement)));
  // The child reads environment and files itself; what flags said is passed on.
  const Settings& settings = session.settings;
  if (settings.cache_dir) arguments.push_back("--cache-dir=" + settings.cache_dir->string());
  if (settings.kernel_dir) arguments.push_back("--kernel-dir=" + settings.kernel_dir->string());
  constexpr std::string_view kCompilers[] = {"auto", "nvrtc", "clang"};
  arguments.push_back(format_text("--compiler={}", kCompilers[static_cast<std::size_t>(settings.compiler)]));
  return arguments;
}

ErrorCode code_of(std::string_view text) {
  for (const ErrorCode code :
       {ErrorCode::invalid_argument, ErrorCode::out_of_memory, ErrorCode::unsupported, ErrorCode::unavailable,
        ErrorCode::compile, ErrorCode::parse, ErrorCode::io, ErrorCode::cuda}) {
    if (text == name(code)) return code;
  }
  return ErrorCode::internal;
}

// The answers of one child after the other, for the cases of one op.
class IsolatedOp {
 public:
  IsolatedOp(Session& session, const lab::Op& op, lab::CheckRequest request, std::string device,
             std::size_t cases, std::chrono::seconds limit)
      : session_(session),
        op_(op),
        request_(std::move(request)),
        device_(std::move(device)),
        cases_(cases),
        limit_(limit) {}

  lab::CheckReport next() {
    if (hung_) {
      ++asked_;
      return failed(format_text("it was not run: a case before it gave no answer in {} s", limit_.count()));
    }
    if (asked_ == reports_.size()) run_rest();
    lab::CheckReport report = reports_[asked_++];
    report.device_lost = false;  // the next child has a new one
    return report;
  }

 private:
  static lab::CheckReport failed(std::string sentence) {
    lab::CheckReport report;
    report.faults.push_back(std::move(sentence));
    return report;
  }

  // At least one more report: that of a case which the child did not survive, if need be.
  void run_rest() {
    const std::size_t before = reports_.size();
    // The child ends a case that takes too long itself; this is for one that cannot even do that.
    const auto limit = (limit_ + std::chrono::seconds(10)) * static_cast<int>(cases_ - before);
    const ChildResult child = run_child(
        executable_path(), child_arguments(session_, op_, request_, device_, before, limit_), limit);
    bool timed_out = child.end == ChildResult::End::timed_out;
    std::string_view rest = child.out;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const Json answer = parse_line(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (const Json* const error = answer.find("error")) {
        throw Error(code_of(error->at("code").as_string()), error->at("message").as_string(),
                    error->at("detail").as_string());
      }
      if (answer.find("timed_out") != nullptr) {
        timed_out = true;
      } else if (answer.find("report") != nullptr) {
        reports_.push_back(report_of(answer.at("report")));
      }
    }
    const bool lost = reports_.size() > before && reports_.back().device_lost;
    if (reports_.size() >= cases_ || lost) return;
    hung_ = timed_out;
    std::string sentence = timed_out ? format_text("it gave no answer in {} s and was ended", limit_.count())
                                     : format_text("its process {}", describe(child, limit));
    if (!timed_out && !child.err.empty()) sentence += ": " + child.err.substr(0, child.err.find('\n'));
    reports_.push_back(failed(std::move(sentence)));
  }

  // A line cut off by the child's end is no answer.
  static Json parse_line(std::string_view line) {
    try {
      Json json = Json::parse(line, "the child's answer");
      return json.is_object() ? json : Json::object();
    } catch (const Error&) {
      return Json::object();
    }
  }

  Session& session_;
  const lab::Op& op_;
  const lab::CheckRequest request_;
  const std::string device_;
  const std::size_t cases_;
  const std::chrono::seconds limit_;
  std::vector<lab::CheckReport> reports_;
  std::size_t asked_ = 0;
  bool hung_ = false;
};

int run(Session& session, const Invocation& invocation) {
  const CheckArguments arguments = read_check_arguments(invocation);
  const auto skip = static_cast<std::size_t>(
      require_count("check-cases: --skip", invocation.value("skip").value_or("0"), 0, 1000000000));
  const std::chrono::seconds limit(
      require_count("check-cases: --time-limit", invocation.value("time-limit").value_or("60"), 1, 86400));
  const std::vector<lab::Op> ops = resolve_ops(session, arguments.ops);
  const std::shared_ptr<Context> context = open_lab_context(session);
  const lab::CheckPlan plan = lab::plan_checks(ops, arguments.request, context->device().facts().kind);
  CaseTimer timer(session, limit);
  for (std::size_t i = skip; i < plan.cases.size(); ++i) {
    Json line = Json::object();
    bool last = false;
    timer.begin_case();
    try {
      const lab::CheckReport report = lab::check(*plan.cases[i].op, plan.cases[i].which, context);
      last = report.device_lost;
      line.set("report", report_json(report));
    } catch (const Error& error) {
      Json body = Json::object();
      body.set("code", name(error.code()));
      body.set("message", error.message());
      body.set("detail", error.detail());
      line.set("error", std::move(body));
      last = true;
    }
    timer.end_case();
    session.out.line(line.dump());
    session.out.flush();
    if (last) break;
  }
  return kDone;
}

constexpr Positional kPositionals[] = {{.name = "FILE", .help = "a kernel file", .required = true}};
constexpr Option kOptions[] = {
    {.name = "skip", .value = "N", .help = "leave out the first N cases"},
    {.name = "time-limit", .value = "SECONDS", .help = "of a case"},
    {.name = "all", .help = "not taken"},
    {.name = "variant", .value = "NAME", .help = "as check", .repeatable = true},
    {.name = "dtype", .value = "TYPE", .help = "as check", .repeatable = true},
    {.name = "shape", .value = "SHAPE", .help = "as check", .repeatable = true},
    {.name = "set", .value = "NAME=VALUE", .help = "as check", .repeatable = true},
    {.name = "contents", .value = "NAME", .help = "as check", .repeatable = true},
    {.name = "placement", .value = "NAME", .help = "as check", .repeatable = true},
    {.name = "seed", .value = "N", .help = "as check"},
    {.name = "no-tuning", .help = "as check"},
    {.name = "quick", .help = "as check"},
};

}  // namespace

lab::CaseRunner isolated_runner(Session& session, const lab::CheckPlan& plan, const CheckArguments& arguments,
                                std::string device, std::chrono::seconds limit) {
  const auto ops = std::make_shared<std::map<const lab::Op*, IsolatedOp>>();
  std::map<const lab::Op*, std::size_t> cases;
  for (const lab::PlannedCase& planned : plan.cases) ++cases[planned.op];
  for (const auto& [op, count] : cases)
    ops->try_emplace(op, session, *op, arguments.request, device, count, limit);
  return [ops](const lab::Op& op, const lab::CheckCase&) { return ops->at(&op).next(); };
}

void prepare_kernel_files(std::span<const lab::Op> ops, const lab::CheckRequest& request,
                          const std::shared_ptr<Context>& context) {
  for (const lab::Op& op : ops) {
    if (op.file.empty()) continue;
    const device::DeviceFacts& facts = context->device().facts();
    if (facts.kind == device::DeviceKind::cpu) {
      throw Error(
          ErrorCode::unsupported,
          format_text(
              "{}: a kernel file runs on a cuda device or in the simulator (--device sim), not on cpu",
              op.file.string()));
    }
    for (const DType dtype : op.dtypes) {
      const bool asked = request.dtypes.empty() || std::find(request.dtypes.begin(), request.dtypes.end(),
                                                             dtype) != request.dtypes.end();
      if (!asked) continue;
      lab::Problem problem = op.check_problems.front();
      problem.dtype = dtype;
      try {
        op.kernels(*context, lab::complete(op, std::move(problem)), op.variants.front().name, nullptr);
      } catch (const Error& error) {
        // What is wrong with a problem is for its case to tell.
        if (error.code() == ErrorCode::compile) throw;
      }
    }
  }
}

const Command kCheckCasesCommand = {
    .name = "check-cases",
    .summary = "check one kernel file, a line of JSON for each case",
    .usage = "FILE [--skip N] [--time-limit SECONDS] [options of check]",
    .positionals = kPositionals,
    .options = kOptions,
    .hidden = true,
    .run = run,
};

}  // namespace gpuforge::cli
