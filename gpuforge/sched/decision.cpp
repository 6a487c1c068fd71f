#include "gpuforge/sched/decision.h"

#include "gpuforge/base/format.h"
#include "gpuforge/base/quantity.h"

namespace gpuforge::sched {
namespace {

constexpr std::array<std::string_view, kDecisionKindCount> kKindNames = {
    "admit",    "throttle", "queue", "reject",   "grow", "reclaim", "evict",
    "dispatch", "preempt",  "hold",  "complete", "fail", "cancel"};

// The end of an input's name says what it is: _bytes, _us; else a plain number. In the sentence {0} to {2}
// are the inputs, {3} the other task.
struct ReasonRow {
  std::string_view name;
  std::array<std::string_view, 3> inputs;
  std::string_view sentence;
};

constexpr std::array<ReasonRow, kReasonCount> kReasons = {{
    {"fits", {"reserved_bytes", "granted_bytes", "share"}, "{0} are kept for it, {1} it may use; share {2}"},
    {"fits_in_part",
     {"granted_bytes", "limit_bytes", "reserved_bytes"},
     "may use {0} of its limit of {1} for now; {2} are kept for it"},
    {"memory_never",
     {"wanted_bytes", "capacity_bytes", ""},
     "asks for {0}; its partition has {1}, so it could never run"},
    {"compute_never",
     {"wanted", "capacity", ""},
     "asks for a compute share of {0}; its partition has {1}, so it could never run"},
    {"bandwidth_never",
     {"wanted", "capacity", ""},
     "asks for a bandwidth share of {0}; its partition has {1}, so it could never run"},
    {"queue_full", {"queued", "places", ""}, "the queue of its partition has {1} places, and {0} are taken"},
    {"memory_full",
     {"wanted_bytes", "free_bytes", "capacity_bytes"},
     "needs {0}; of {2}, {1} are not reserved"},
    {"nothing_to_lend",
     {"limit_bytes", "free_bytes", "capacity_bytes"},
     "may use up to {0}, but of {2}, {1} are free"},
    {"compute_full", {"wanted", "free", "capacity"}, "needs a compute share of {0}; of {2}, {1} is free"},
    {"bandwidth_full", {"wanted", "free", "capacity"}, "needs a bandwidth share of {0}; of {2}, {1} is free"},
    {"streams_full", {"used", "places", ""}, "all {1} streams of its partition are taken"},
    {"behind_a_patient_one",
     {"waited_us", "patience_us", ""},
     "{3} has waited {0}, and nobody overtakes one that waited over {1}"},
    {"room_appeared", {"granted_bytes", "before_bytes", "limit_bytes"}, "may now use {0} of {2}, was {1}"},
    {"needed_by",
     {"taken_bytes", "left_bytes", "wanted_bytes"},
     "{0} go back, {1} are left: {3} has {2} kept for it"},
    {"within_share",
     {"virtual_us", "clock_us", "weight"},
     "the highest class within its share (its clock, {0}, is not past the common one, {1}); weight {2}"},
    {"device_free",
     {"virtual_us", "clock_us", "weight"},
     "past its share (its clock, {0}, the common one, {1}), but nobody within theirs wants the device; "
     "weight {2}"},
    {"higher_class", {"priority", "other_priority", ""}, "{3} goes first: priority {1} over {0}"},
    {"at_share_limit",
     {"limit", "until_us", "debt_us"},
     "has used its limit of {0} of the time and {2} more; runs again at {1}"},
    {"done", {"used_us", "pieces", ""}, "{1} pieces in {0} of device time"},
    {"body_failed", {"used_us", "pieces", ""}, "its work failed after {1} pieces"},
    {"dependency_failed", {"", "", ""}, "{3}, which it waits for, did not complete"},
    {"deadline_passed", {"deadline_us", "waited_us", ""}, "its deadline, {0} after arrival, has passed"},
    {"asked_to", {"used_us", "pieces", ""}, "asked to, after {1} pieces"},
}};

const ReasonRow& row_of(Reason reason) {
  return kReasons[static_cast<std::size_t>(reason)];
}

std::string shown(std::string_view what, double value) {
  if (what.ends_with("_bytes")) return show_bytes(static_cast<std::uint64_t>(value));
  if (what.ends_with("_us")) return show_us(value);
  return format_text("{:.4g}", value);
}

}  // namespace

std::string_view name(DecisionKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

std::string_view name(Reason reason) {
  return row_of(reason).name;
}

std::span<const std::string_view, 3> input_names(Reason reason) {
  return row_of(reason).inputs;
}

std::string sentence(const Decision& decision, const TaskNames& names) {
  const ReasonRow& row = row_of(decision.reason);
  std::array<std::string, 3> values;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = shown(row.inputs[i], decision.inputs[i]);
  std::string text = format_text(row.sentence, values[0], values[1], values[2],
                                 decision.other.valid() ? names(decision.other) : std::string("another"));
  if (decision.position > 0) text += format_text("; place {} in the queue", decision.position);
  return text;
}

Json to_json(const Decision& decision, const TaskNames& names) {
  Json json = Json::object();
  json.set("time_us", decision.time_us);
  json.set("task", names(decision.task));
  json.set("decision", name(decision.kind));
  json.set("reason", name(decision.reason));
  json.set("sentence", sentence(decision, names));
  if (decision.position > 0) json.set("position", std::uint64_t{decision.position});
  if (decision.other.valid()) json.set("other", names(decision.other));
  Json inputs = Json::object();
  for (std::size_t i = 0; i < decision.inputs.size(); ++i) {
    const std::string_view what = row_of(decision.reason).inputs[i];
    if (!what.empty()) inputs.set(what, decision.inputs[i]);
  }
  json.set("inputs", std::move(inputs));
  return json;
}

}  // namespace gpuforge::sched
