#include "cli/tune_report.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "cli/table.h"
#include "cli/terminal.h"
#include "gpuforge/lab/tuning_record.h"

namespace gpuforge::cli {
namespace {

constexpr std::size_t kShown = 10;

std::string cost_text(const lab::TuningRecord& record) {
  return record.unit == "ms" ? format_text("{:.5g} ms", record.p50) : format_text("{:.0f}", record.p50);
}

// "87.5 %"; "-" where there is nothing to compare with.
std::string share_text(double cost, const lab::TuningRecord* usual) {
  return usual != nullptr && usual->p50 > 0 ? format_text("{:.1f} %", 100 * cost / usual->p50) : "-";
}

std::vector<const lab::TuningRecord*> good_in_order(std::span<const lab::TuningRecord> records) {
  std::vector<const lab::TuningRecord*> list;
  for (const lab::TuningRecord& record : records) {
    if (record.outcome == lab::Outcome::good) list.push_back(&record);
  }
  std::stable_sort(list.begin(), list.end(), [](const auto* a, const auto* b) { return a->p50 < b->p50; });
  return list;
}

struct Discarded {
  std::size_t count = 0;
  const lab::TuningRecord* first = nullptr;
};

std::map<lab::Outcome, Discarded> discarded(std::span<const lab::TuningRecord> records) {
  std::map<lab::Outcome, Discarded> map;
  for (const lab::TuningRecord& record : records) {
    if (record.outcome == lab::Outcome::good) continue;
    Discarded& entry = map[record.outcome];
    if (entry.count++ == 0) entry.first = &record;
  }
  return map;
}

// Of one device, op, variant and problem.
struct Kept {
  std::vector<lab::TuningRecord> latest;  // by configuration
};

using KeptBy = std::map<std::tuple<std::string, std::string, std::string, std::string>, Kept>;

std::string device_text(const lab::TunedDevice& device) {
  return device.product.ends_with(device.arch) ? device.product : device.product + " " + device.arch;
}

KeptBy kept_by_problem(std::span<const lab::TuningRecord> records, std::string_view op) {
  KeptBy map;
  for (const lab::TuningRecord& record : records) {
    if (!op.empty() && record.key.op != op) continue;
    auto& latest =
        map[{device_text(record.device), record.key.op, record.key.variant, to_string(record.problem)}]
            .latest;
    const auto same = std::find_if(latest.begin(), latest.end(),
                                   [&](const auto& other) { return lab::same_candidate(other, record); });
    if (same == latest.end()) {
      latest.push_back(record);
    } else if (same->date <= record.date) {
      *same = record;
    }
  }
  return map;
}

const lab::TuningRecord* usual_of(std::span<const lab::TuningRecord> records) {
  const auto found = std::find_if(records.begin(), records.end(), [](const auto& record) {
    return record.is_default && record.outcome == lab::Outcome::good;
  });
  return found == records.end() ? nullptr : &*found;
}

}  // namespace

std::string what_is_ranked(const device::DeviceFacts& facts) {
  if (facts.kind != device::DeviceKind::sim) return {};
  return "The simulator has no time, and this is none: 'proxy' is 2 x sectors moved + wavefronts of shared "
         "memory + instructions of warps / 4, which ranks configurations by their work and knows nothing of "
         "latency or occupancy.";
}

namespace {

// "by 5.2 % (between 4.9 and 5.5)", or that it is noise.
std::string gain_text(const lab::Change& change) {
  const auto percent = [](double ratio) { return (1 - ratio) * 100; };
  if (change.verdict == lab::Verdict::faster) {
    return format_text("faster by {:.1f} % (between {:.1f} and {:.1f})", percent(change.ratio),
                       percent(change.interval.high), percent(change.interval.low));
  }
  return format_text("not faster beyond noise ({:+.1f} %, between {:+.1f} and {:+.1f})",
                     -percent(change.ratio), -percent(change.interval.low), -percent(change.interval.high));
}

// What measuring again has shown; empty when nothing was.
std::string settled_text(const lab::TuneResult& result) {
  std::string text;
  const auto add = [&](const std::optional<lab::Change>& change, const std::string& than) {
    if (change) text += format_text("{} {} than {}", text.empty() ? "" : ";", gain_text(*change), than);
  };
  add(result.over_default, "the default");
  if (result.next() != nullptr && result.next() != result.usual())
    add(result.over_next,
        format_text("the next ({}, {})", to_string(result.next()->config), cost_text(*result.next())));
  return text.empty() ? text : "measured again, and longer, the best is" + text;
}

Json change_json(const std::optional<lab::Change>& change) {
  if (!change) return Json();
  Json json = Json::object();
  json.set("verdict", name(change->verdict));
  json.set("ratio", change->ratio);
  json.set("low", change->interval.low);
  json.set("high", change->interval.high);
  return json;
}

}  // namespace

std::string tune_text(const lab::Op& op, const lab::TuneRequest& request, const lab::TuneResult& result,
                      const device::DeviceFacts& facts, int columns) {
  std::string text = wrap(format_text("{} {}, {}, on {} ({})", op.name, request.variant,
                                      to_string(request.problem), facts.name, facts.product),
                          columns, 0) +
                     "\n";
  const auto good = good_in_order(result.records);
  const lab::TuningRecord* const usual = result.usual();
  Table table(
      {"configuration", facts.kind == device::DeviceKind::sim ? ">proxy" : ">time", ">of default", ""});
  for (std::size_t i = 0; i < std::min(good.size(), kShown); ++i) {
    table.add_row({to_string(good[i]->config), cost_text(*good[i]), share_text(good[i]->p50, usual),
                   good[i] == usual ? "the default" : ""});
  }
  if (!good.empty()) text += table.text();
  const auto sentence = [&](const std::string& words) { text += wrap(words, columns, 0) + "\n"; };
  if (good.size() > kShown) sentence(format_text("{} more are worse", good.size() - kShown));
  sentence(format_text("looked at {} of {}: {} tried now, {} known from earlier runs, {} discarded",
                       result.records.size(), result.space, result.records.size() - result.known,
                       result.known, result.records.size() - good.size()));
  for (const auto& [outcome, entry] : discarded(result.records)) {
    sentence(format_text("discarded, {}: {}, the first {}: {}", name(outcome), entry.count,
                         to_string(entry.first->config), entry.first->reason));
  }
  if (!result.ended.empty()) sentence("ended early: " + result.ended);
  if (good.empty()) {
    sentence("none is right, so nothing is chosen");
  } else if (usual == nullptr) {
    sentence("the default itself was discarded; without --no-tuning the best is taken from now on");
  } else if (good.front() == usual) {
    sentence("the default is the best of them");
  } else {
    sentence(format_text("best: {}, {} of the default ({})", to_string(good.front()->config),
                         share_text(good.front()->p50, usual), to_string(usual->config)));
  }
  if (const std::string settled = settled_text(result); !settled.empty()) sentence(settled);
  return text;
}

Json tune_json(const lab::TuneRequest& request, const lab::TuneResult& result) {
  Json json = Json::object();
  json.set("problem", to_string(request.problem));
  json.set("variant", request.variant);
  json.set("space", std::uint64_t{result.space});
  json.set("looked_at", std::uint64_t{result.records.size()});
  json.set("known", std::uint64_t{result.known});
  json.set("ended", result.ended);
  const auto record_json = [](const lab::TuningRecord* record) {
    return record != nullptr ? lab::to_json(*record) : Json();
  };
  json.set("best", record_json(result.best()));
  json.set("default", record_json(result.usual()));
  json.set("next", record_json(result.next()));
  json.set("over_default", change_json(result.over_default));
  json.set("over_next", change_json(result.over_next));
  Json counts = Json::object();
  for (const auto& [outcome, entry] : discarded(result.records))
    counts.set(name(outcome), std::uint64_t{entry.count});
  json.set("discarded", std::move(counts));
  Json records = Json::array();
  for (const lab::TuningRecord& record : result.records) records.push_back(lab::to_json(record));
  json.set("records", std::move(records));
  return json;
}

std::string kept_text(std::span<const lab::TuningRecord> records, std::string_view op) {
  Table table({"op", "variant", "problem", "best", ">cost", ">of default", ">results", "device"});
  for (const auto& [place, kept] : kept_by_problem(records, op)) {
    const auto& [device, op_name, variant, problem] = place;
    const auto good = good_in_order(kept.latest);
    table.add_row({op_name, variant, problem, good.empty() ? "none" : to_string(good.front()->config),
                   good.empty() ? "-" : cost_text(*good.front()),
                   good.empty() ? "-" : share_text(good.front()->p50, usual_of(kept.latest)),
                   format_text("{}", kept.latest.size()), device});
  }
  return table.empty() ? std::string() : table.text();
}

Json kept_json(std::span<const lab::TuningRecord> records, std::string_view op) {
  Json list = Json::array();
  for (const auto& [place, kept] : kept_by_problem(records, op)) {
    Json json = Json::object();
    json.set("device", std::get<0>(place));
    json.set("op", std::get<1>(place));
    json.set("variant", std::get<2>(place));
    json.set("problem", std::get<3>(place));
    json.set("results", std::uint64_t{kept.latest.size()});
    const auto good = good_in_order(kept.latest);
    json.set("best", good.empty() ? Json() : lab::to_json(*good.front()));
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace gpuforge::cli
