// gpuforge tune: which of an op's configurations is fastest here, and keeping it for `best` to choose.
#include <atomic>

#include "cli/device_json.h"
#include "cli/kernel_ops.h"
#include "cli/lab_session.h"
#include "cli/report.h"
#include "cli/tune_report.h"
#include "cli/tune_request.h"
#include "cli/verbs.h"

namespace gpuforge::cli {
namespace {

std::string bar_text(const lab::TuneStep& step, int columns) {
  constexpr std::size_t kCells = 20;
  const std::size_t full = std::min(kCells, step.done * kCells / std::max<std::size_t>(step.all, 1));
  const std::string text = format_text("[{}{}] {}/{} {}", std::string(full, '#'),
                                       std::string(kCells - full, '.'), step.done, step.all, step.what);
  return text.substr(0, static_cast<std::size_t>(std::max(columns - 1, 1)));
}

// Takes results as they come: into the cache, where an interrupt finds them whole.
class Keeper {
 public:
  explicit Keeper(Session& session) : session_(session), folder_(tuning_folder(session)) {
    if (folder_) {
      known_ = lab::read_tuning(*folder_, *session.log);
    } else {
      session.messages.write(
          LogLevel::warning,
          "results are not kept: there is no cache folder, since HOME is not set; name one "
          "with --cache-dir");
    }
    session.interrupts.add_cleanup([count = count_, &messages = session.messages] {
      messages.note(
          format_text("{} new results are kept; the same command goes on from there", count->load()));
    });
  }

  const std::vector<lab::TuningRecord>& known() const { return known_; }
  std::size_t kept() const { return count_->load(); }
  std::string where(const device::DeviceFacts& facts) const {
    return folder_ ? lab::tuning_file(*folder_, lab::tuned_device(facts)).string() : std::string();
  }
  void keep(const lab::TuningRecord& record) {
    if (!folder_) return;
    const auto held = session_.interrupts.hold();
    lab::append_tuning(*folder_, record);
    ++*count_;
  }

 private:
  Session& session_;
  const std::optional<std::filesystem::path> folder_;
  std::vector<lab::TuningRecord> known_;
  const std::shared_ptr<std::atomic<std::size_t>> count_ = std::make_shared<std::atomic<std::size_t>>(0);
};

std::filesystem::path require_folder(const Session& session) {
  const auto folder = tuning_folder(session);
  if (!folder) {
    throw Error(ErrorCode::unavailable,
                "tune: there is no cache folder, since HOME is not set; name one with --cache-dir");
  }
  return *folder;
}

int merge(Session& session, const Invocation& invocation) {
  std::vector<std::string> files = invocation.values("merge");
  files.insert(files.end(), invocation.positionals.begin(), invocation.positionals.end());
  const std::filesystem::path folder = require_folder(session);
  lab::Merged sum;
  for (const std::string& file : files) {
    const auto held = session.interrupts.hold();
    const lab::Merged merged = lab::merge_tuning(folder, file, *session.log);
    sum.added += merged.added;
    sum.known += merged.known;
    sum.skipped += merged.skipped;
  }
  if (session.json) {
    Json json = document("tune");
    json.set("folder", folder.string());
    json.set("added", std::uint64_t{sum.added});
    json.set("known", std::uint64_t{sum.known});
    json.set("skipped", std::uint64_t{sum.skipped});
    session.out.document(json);
  } else {
    session.out.line(
        format_text("{} results added to {}, {} were there already", sum.added, folder.string(), sum.known));
  }
  return kDone;
}

int list(Session& session, const Invocation& invocation) {
  const std::filesystem::path folder = require_folder(session);
  const std::string op =
      invocation.positionals.empty() ? "" : resolve_ops(session, invocation.positionals).front().name;
  const auto records = lab::read_tuning(folder, *session.log);
  if (session.json) {
    Json json = document("tune");
    json.set("folder", folder.string());
    json.set("kept", kept_json(records, op));
    session.out.document(json);
    return kDone;
  }
  const std::string text = kept_text(records, op);
  session.out.write(text.empty() ? format_text("nothing was tuned{}\n", op.empty() ? "" : " of " + op)
                                 : text);
  return kDone;
}

int tune(Session& session, const Invocation& invocation) {
  GPUFORGE_CHECK(invocation.positionals.size() == 1,
                 "tune: name one op or kernel file{}; `gpuforge ops` lists the ops",
                 invocation.positionals.empty() ? "" : ", found " + invocation.positionals[0] + " and more");
  const lab::Op op = resolve_ops(session, invocation.positionals).front();
  const std::vector<lab::TuneRequest> requests = read_tune_requests(invocation, op);
  const std::shared_ptr<Context> context = open_lab_context(session);
  const device::DeviceFacts& facts = context->device().facts();
  for (const lab::TuneRequest& request : requests)
    lab::tuning_space(op, request.problem, request.variant, facts);  // refuses before the first is begun
  Keeper keeper(session);
  int code = kDone;
  Json problems = Json::array();
  if (!session.json && !what_is_ranked(facts).empty())
    session.out.line(wrap(what_is_ranked(facts), session.terminal.columns, 0));
  for (const lab::TuneRequest& request : requests) {
    const lab::TuneResult result =
        lab::tune(op, request, context,
                  {.known = keeper.known(),
                   .keep = [&](const lab::TuningRecord& record) { keeper.keep(record); },
                   .progress =
                       [&](const lab::TuneStep& step) {
                         if (session.messages.has_progress_line())
                           session.messages.show_progress(bar_text(step, session.terminal.columns));
                       }});
    session.messages.hide_progress();
    if (result.usual() == nullptr || result.device_lost) code = kWrong;
    if (session.json) {
      problems.push_back(tune_json(request, result));
    } else {
      session.out.write("\n" + tune_text(op, request, result, facts, session.terminal.columns));
      session.out.flush();
    }
    if (result.device_lost) {
      session.messages.write(
          LogLevel::error, format_text("{}; the same command goes on without that candidate", result.ended));
      break;
    }
  }
  if (session.json) {
    Json json = document("tune");
    json.set("op", op.name);
    json.set("device", device_json(facts));
    json.set("unit", lab::cost_unit(facts));
    json.set("what_is_ranked", what_is_ranked(facts));
    json.set("kept", std::uint64_t{keeper.kept()});
    json.set("file", keeper.where(facts));
    json.set("problems", std::move(problems));
    session.out.document(json);
  } else if (!keeper.where(facts).empty()) {
    session.out.line(format_text("\n{} new results in {}", keeper.kept(), keeper.where(facts)));
  }
  return code;
}

int run(Session& session, const Invocation& invocation) {
  if (invocation.has("merge")) return merge(session, invocation);
  if (invocation.has("list")) return list(session, invocation);
  return tune(session, invocation);
}

constexpr std::string_view kStrategies[] = {"all", "random", "climb"};
constexpr Positional kPositionals[] = {{.name = "OP",
                                        .help = "an op that `gpuforge ops` lists, or FILE.cu with a head",
                                        .repeatable = true,
                                        .kind = ValueKind::file}};
constexpr Option kOptions[] = {
    {.name = "variant", .value = "NAME", .help = "of the op; its first when none is named"},
    {.name = "dtype", .value = "TYPE", .help = "f16, bf16, f32; several: each is tuned", .repeatable = true},
    {.name = "shape",
     .value = "SHAPE",
     .help = "4096x1024, of the op's first input; several: each is tuned",
     .repeatable = true},
    {.name = "set", .value = "NAME=VALUE", .help = "an option of the op: dim=0", .repeatable = true},
    {.name = "strategy",
     .value = "NAME",
     .help = "all, random (seeded), climb (from the best to what differs in one choice); all is usual",
     .values = kStrategies,
     .only_values = true},
    {.name = "budget", .value = "N", .help = "at most N candidates; 30s: at most that long"},
    {.name = "seed", .value = "N", .help = "of random and of climb's restarts (1)"},
    {.name = "shard", .value = "I/N", .help = "every N-th candidate: 1/4 to 4/4 are all of them"},
    {.name = "again", .help = "measure what earlier runs have measured, too"},
    {.name = "list", .help = "what is kept, of OP or of all"},
    {.name = "merge",
     .value = "FILE",
     .help = "copy the results of other machines' files in, and do nothing else",
     .repeatable = true,
     .kind = ValueKind::file},
};
constexpr Example kExamples[] = {
    {.line = "gpuforge tune softmax_online --dtype f16 --shape 4096x1024", .meaning = "every configuration"},
    {.line = "gpuforge tune reduce_sum --dtype f16 --shape 8192x8192 --strategy climb --budget 30s",
     .meaning = "the best that half a minute finds"},
    {.line = "gpuforge tune copy_transpose --shape 64x64 --device sim --budget 5",
     .meaning = "without a GPU: ranked by counts"},
    {.line = "gpuforge tune --merge h200.jsonl", .meaning = "what another machine has found"},
};

}  // namespace

const Command kTuneCommand = {
    .name = "tune",
    .summary = "find the fastest configuration of an op here, and keep it",
    .usage = "OP|FILE.cu [--variant V] [--dtype T] [--shape S] [--strategy all|random|climb] [options]",
    .description =
        "Goes through the configurations an op declares, beginning with the default. Each is compiled, ahead "
        "and on several threads, compared with the reference and then timed as bench does; one that does not "
        "compile, does not run or is wrong is discarded with the reason. In the simulator, which has no "
        "time, "
        "a proxy from its counters ranks them.\n"
        "Every result is kept at once, in files of lines below the cache folder; check, bench and profile "
        "then take the best configuration for such shapes on such a device (--no-tuning: not). What is known "
        "is not measured again, so the same command goes on where an interrupt ended it. Exit code 1: the "
        "default itself is wrong.",
    .positionals = kPositionals,
    .options = kOptions,
    .examples = kExamples,
    .run = run,
};

}  // namespace gpuforge::cli
