#include "gpuforge/lab/tune.h"

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "gpuforge/base/parallel.h"
#include "gpuforge/base/version.h"
#include "gpuforge/lab/check.h"
#include "gpuforge/lab/recheck.h"

namespace gpuforge::lab {
namespace {

constexpr std::size_t kMostFinalists = 8;

// What a candidate's kernels are, or why there are none.
struct Prepared {
  std::string compile_key;
  std::optional<Outcome> failure;
  std::string reason;
};

class Tuning {
 public:
  Tuning(const Op& op, const TuneRequest& request, std::shared_ptr<Context> context, const TuneSinks& sinks)
      : op_(op),
        request_(request),
        context_(std::move(context)),
        facts_(context_->device().facts()),
        sinks_(sinks),
        device_(tuned_device(facts_)),
        key_(op_.tuning_key(request_.problem, request_.variant)) {}

  TuneResult run() {
    const std::vector<Config> space = tuning_space(op_, request_.problem, request_.variant, facts_);
    const std::vector<Config> candidates = shard(space, request_.shard, request_.shards);
    default_ = op_.choose ? op_.choose(request_.problem, request_.variant, facts_, {}).config : space.front();
    result_.space = candidates.size();
    if (std::find(candidates.begin(), candidates.end(), default_) == candidates.end()) ++result_.space;
    search(candidates, default_, request_.search,
           [this](std::span<const Config> wanted) { return look_at(wanted); });
    if (result_.ended.empty() && result_.records.size() < result_.space) {
      result_.ended = request_.search.budget && result_.records.size() >= *request_.search.budget
                          ? format_text("the budget of {} was spent", *request_.search.budget)
                          : "the climb found nothing better";
    }
    if (result_.best() != nullptr && result_.best()->unit == "ms" && !result_.device_lost) settle();
    return std::move(result_);
  }

 private:
  // Costs of as many as were looked at before the time was over or the device was lost.
  std::vector<std::optional<double>> look_at(std::span<const Config> wanted) {
    std::vector<std::optional<double>> costs;
    const std::size_t batch = 2 * std::max<std::size_t>(std::thread::hardware_concurrency(), 4);
    for (std::size_t at = 0; at < wanted.size(); at += batch) {
      const auto part = wanted.subspan(at, std::min(batch, wanted.size() - at));
      if (out_of_time()) return costs;
      tell(format_text("compiling {}", part.size()));
      const std::vector<Prepared> prepared = compile(part);
      for (std::size_t i = 0; i < part.size(); ++i) {
        if (out_of_time()) return costs;
        tell(gpuforge::to_string(part[i]));
        const TuningRecord& record = look_at_one(part[i], prepared[i]);
        costs.push_back(record.outcome == Outcome::good ? std::optional(record.p50) : std::nullopt);
        if (result_.device_lost) return costs;
      }
    }
    return costs;
  }

  bool out_of_time() {
    if (!request_.seconds || steady_seconds() - start_ < *request_.seconds) return false;
    if (result_.records.empty()) return false;  // the default is always measured
    result_.ended = format_text("{} s were over", *request_.seconds);
    return true;
  }

  void tell(std::string what) const {
    if (!sinks_.progress) return;
    std::size_t all = result_.space;
    if (request_.search.budget) all = std::min(all, *request_.search.budget);
    sinks_.progress({result_.records.size(), all, std::move(what)});
  }

  std::vector<Prepared> compile(std::span<const Config> configs) {
    std::vector<Prepared> list(configs.size());
    if (!op_.kernels) return list;
    parallel_ranges(static_cast<std::int64_t>(configs.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
        list[i] = compile_one(configs[i]);
    });
    return list;
  }

  Prepared compile_one(const Config& config) const {
    Prepared prepared;
    try {
      for (const auto& kernel : op_.kernels(*context_, request_.problem, request_.variant, &config)) {
        prepared.compile_key += (prepared.compile_key.empty() ? "" : "+") + kernel->compiled().key;
      }
    } catch (const Error& error) {
      switch (error.code()) {
        case ErrorCode::compile:
          prepared.failure = Outcome::does_not_compile;
          break;
        case ErrorCode::invalid_argument:
        case ErrorCode::unsupported:
        case ErrorCode::cuda:
          prepared.failure = Outcome::does_not_run;
          break;
        default:
          throw;
      }
      prepared.compile_key.clear();
      prepared.reason = error.message();
    }
    return prepared;
  }

  const TuningRecord& look_at_one(const Config& config, const Prepared& prepared) {
    TuningRecord record{.device = device_,
                        .key = key_,
                        .problem = request_.problem,
                        .config = config,
                        .is_default = config == default_,
                        .compile_key = prepared.compile_key,
                        .unit = std::string(cost_unit(facts_)),
                        .program = std::string(version()),
                        .date = utc_now()};
    if (const TuningRecord* const known = find_known(record); known != nullptr && !request_.again) {
      ++result_.known;
      return result_.records.emplace_back(*known);
    }
    if (prepared.failure) {
      record.outcome = *prepared.failure;
      record.reason = prepared.reason;
    } else {
      verify_and_measure(record);
    }
    if (sinks_.keep) sinks_.keep(record);
    return result_.records.emplace_back(std::move(record));
  }

  // The last that was kept.
  const TuningRecord* find_known(const TuningRecord& record) const {
    const TuningRecord* found = nullptr;
    for (const TuningRecord& known : sinks_.known) {
      if (same_candidate(known, record) && known.compile_key == record.compile_key &&
          known.is_default == record.is_default && (found == nullptr || found->date <= known.date))
        found = &known;
    }
    return found;
  }

  void verify_and_measure(TuningRecord& record) {
    const CheckCase which{.problem = request_.problem, .variant = request_.variant, .config = record.config};
    const CheckReport report = check(op_, which, *worked(), context_);
    if (!report.good()) {
      record.outcome = report.outputs.empty() ? Outcome::does_not_run : Outcome::wrong_result;
      record.reason = complaints(report).front();
      result_.device_lost = report.device_lost;
      if (report.device_lost) result_.ended = "the device runs nothing more after a fault of a kernel";
      return;
    }
    judging(record, [&] { record.p50 = cost_of(record.config); });
  }

  // The same for every candidate.
  std::shared_ptr<const Worked> worked() {
    return last_.find(op_, request_.problem, Contents::normal, CheckCase{}.seed);
  }

  // Those that must have been measured again: the two best as far as is known, and the default.
  std::vector<std::size_t> finalists() const {
    std::vector<std::size_t> list;
    for (const TuningRecord* const record : {result_.best(), result_.next(), result_.usual()}) {
      if (record == nullptr) continue;
      const auto at = static_cast<std::size_t>(record - result_.records.data());
      if (std::find(list.begin(), list.end(), at) == list.end()) list.push_back(at);
    }
    return list;
  }

  // Each round may show that one of them was lucky, and bring up another.
  void settle() {
    const std::vector<std::size_t> first = finalists();
    const bool known =
        std::all_of(first.begin(), first.end(), [&](std::size_t at) { return result_.records[at].settled; });
    if (first.size() < 2 || (known && !request_.again)) return;
    std::map<std::size_t, std::vector<std::vector<double>>> samples;
    while (samples.size() < kMostFinalists && !result_.device_lost) {
      const std::vector<std::size_t> wanted = finalists();
      const auto next =
          std::find_if(wanted.begin(), wanted.end(), [&](std::size_t at) { return !samples.contains(at); });
      if (next == wanted.end()) break;
      tell(format_text("again: {}", gpuforge::to_string(result_.records[*next].config)));
      samples[*next] = measure_again(result_.records[*next]);
    }
    const auto change_to_best = [&](const TuningRecord* from) -> std::optional<Change> {
      const TuningRecord* const best = result_.best();
      if (best == nullptr || from == nullptr || from == best) return std::nullopt;
      const auto before = samples.find(static_cast<std::size_t>(from - result_.records.data()));
      const auto now = samples.find(static_cast<std::size_t>(best - result_.records.data()));
      if (before == samples.end() || now == samples.end()) return std::nullopt;
      return compare_timings(before->second, now->second, 0);  // the same operands: nothing else differs
    };
    result_.over_default = change_to_best(result_.usual());
    result_.over_next = change_to_best(result_.next());
  }

  // The samples; the record is then of them, and kept as a new one.
  std::vector<std::vector<double>> measure_again(TuningRecord& record) {
    std::vector<std::vector<double>> samples;
    judging(record, [&] {
      if (request_.cost) {
        for (int i = 0; i < request_.settle.repetitions; ++i)
          samples.push_back({request_.cost(record.config)});
      } else {
        samples = measure(workload(record.config), context_, request_.settle).samples;
        const std::string wrong = recheck(op_, request_.problem, *worked(), *work_, context_);
        if (!wrong.empty()) {
          record.outcome = Outcome::wrong_result;
          record.reason = wrong;
        }
      }
      std::vector<double> all;
      for (const std::vector<double>& each : samples) all.insert(all.end(), each.begin(), each.end());
      record.p50 = median(all);
      record.settled = true;
    });
    record.date = utc_now();
    if (sinks_.keep) sinks_.keep(record);
    return samples;
  }

  // What a candidate is at fault for is why it is discarded.
  void judging(TuningRecord& record, const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::unavailable || error.code() == ErrorCode::internal) throw;
      record.outcome = Outcome::does_not_run;
      record.reason = error.message();
      result_.device_lost = error.code() == ErrorCode::cuda;
      if (result_.device_lost) result_.ended = "the device runs nothing more: " + error.message();
    }
  }

  const Workload& workload(const Config& config) {
    *current_ = config;
    if (!work_) {
      // One set of operands for all candidates: filling them takes longer than measuring.
      Op chosen = op_;
      chosen.run = [run = op_.run, config = current_](const Call& call) {
        run({.problem = call.problem,
             .variant = call.variant,
             .config = config.get(),
             .operands = call.operands,
             .stream = call.stream});
      };
      const bool rotate = facts_.kind == device::DeviceKind::cuda && request_.measure.method == Method::graph;
      work_ = op_workload(chosen, request_.problem, request_.variant, nullptr, *worked(), context_,
                          rotate ? 1024 : 1);
    }
    return *work_;
  }

  double cost_of(const Config& config) {
    if (request_.cost) return request_.cost(config);
    const Workload& work = workload(config);
    if (facts_.kind == device::DeviceKind::sim) return sim_proxy(count(work, context_));
    return measure(work, context_, request_.measure).summary.p50;
  }

  const Op& op_;
  const TuneRequest& request_;
  const std::shared_ptr<Context> context_;
  const device::DeviceFacts& facts_;
  const TuneSinks& sinks_;
  const TunedDevice device_;
  const TuningKey key_;
  const double start_ = steady_seconds();
  Config default_;
  const std::shared_ptr<Config> current_ = std::make_shared<Config>();
  LastWorked last_;
  std::optional<Workload> work_;
  TuneResult result_;
};

}  // namespace

const TuningRecord* TuneResult::usual() const {
  const auto found = std::find_if(records.begin(), records.end(), [](const TuningRecord& record) {
    return record.is_default && record.outcome == Outcome::good;
  });
  return found == records.end() ? nullptr : &*found;
}

namespace {

const TuningRecord* best_but(std::span<const TuningRecord> records, const TuningRecord* other) {
  const TuningRecord* found = nullptr;
  for (const TuningRecord& record : records) {
    if (record.outcome != Outcome::good || &record == other) continue;
    if (found == nullptr || record.p50 < found->p50) found = &record;
  }
  return found;
}

}  // namespace

const TuningRecord* TuneResult::best() const {
  return best_but(records, nullptr);
}

const TuningRecord* TuneResult::next() const {
  return best_but(records, best());
}

std::string_view cost_unit(const device::DeviceFacts& facts) {
  return facts.kind == device::DeviceKind::sim ? "proxy" : "ms";
}

double sim_proxy(const Counts& counts) {
  return 2 * static_cast<double>(counts.global_sectors) + static_cast<double>(counts.shared_wavefronts) +
         static_cast<double>(counts.warp_instructions) / 4;
}

std::vector<Config> tuning_space(const Op& op, const Problem& problem, std::string_view variant,
                                 const device::DeviceFacts& facts) {
  GPUFORGE_CHECK(facts.kind != device::DeviceKind::cpu,
                 "tune: {} runs no kernels, so there is nothing to tune on it; take cuda:N or sim",
                 facts.name);
  op.operands(problem);  // refuses what the op cannot have
  std::vector<Config> space = op.configs ? op.configs(problem, variant, facts) : std::vector<Config>{};
  GPUFORGE_CHECK(!space.empty(), "tune: {} {} has no choices to tune for {}", op.name, variant,
                 to_string(problem));
  std::set<Config> seen;  // one that is declared twice is one candidate
  std::erase_if(space, [&](const Config& config) { return !seen.insert(config).second; });
  return space;
}

TuneResult tune(const Op& op, const TuneRequest& request, const std::shared_ptr<Context>& context,
                const TuneSinks& sinks) {
  return Tuning(op, request, context, sinks).run();
}

}  // namespace gpuforge::lab
