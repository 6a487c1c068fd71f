#include "gpuforge/sched/run_report.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "gpuforge/base/error.h"

namespace gpuforge::sched {
namespace {

Json optional_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json task_json(const TaskReport& report) {
  const TaskStatus& status = report.status;
  Json json = Json::object();
  json.set("name", status.task.name);
  json.set("class", name(status.task.qos));
  json.set("priority", priority(status.task.qos) + status.task.priority);
  json.set("partition",
           status.task.partition.empty() ? std::string(kDefaultPartition) : status.task.partition);
  json.set("state", name(status.state));
  json.set("message", status.message);
  json.set("memory_request_bytes", status.task.memory.request);
  json.set("memory_limit_bytes", status.task.memory.limit);
  json.set("share_requested", requested_share(status.task));
  json.set("share_limit", share_limit(status.task));
  json.set("share", status.share());
  json.set("used_us", status.used_us);
  json.set("arrived_us", optional_json(status.arrived_us));
  json.set("admitted_us", optional_json(status.admitted_us));
  json.set("started_us", optional_json(status.started_us));
  json.set("ended_us", optional_json(status.ended_us));
  json.set("waited_us", status.waited_us);
  json.set("pieces", status.pieces);
  json.set("preemptions", status.preemptions);
  json.set("holds", status.holds);
  json.set("evictions", status.evictions);
  json.set("requests", std::uint64_t{report.latencies_us.size()});
  json.set("latency_p50_us", percentile(report.latencies_us, 0.5));
  json.set("latency_p99_us", percentile(report.latencies_us, 0.99));
  return json;
}

Json partition_json(const PartitionStatus& status, double used_us) {
  Json json = Json::object();
  json.set("name", status.partition.name);
  json.set("used_us", status.used_us);
  json.set("share", used_us > 0 ? status.used_us / used_us : 0.0);
  Json list = Json::array();
  for (const Limit& limit : limits(status.partition)) {
    Json each = Json::object();
    each.set("what", limit.what);
    each.set("value", limit.value);
    each.set("enforcement", name(limit.enforcement));
    each.set("how", limit.how);
    list.push_back(std::move(each));
  }
  json.set("limits", std::move(list));
  return json;
}

}  // namespace

TaskNames names_of(const RunReport& report) {
  std::unordered_map<std::uint64_t, std::string> names;
  const auto key = [](TaskId id) { return std::uint64_t{id.generation} << 32 | id.index; };
  for (const TaskReport& task : report.tasks) names.emplace(key(task.id), task.status.task.name);
  return [names = std::move(names), key](TaskId id) {
    const auto found = names.find(key(id));
    return found != names.end() ? found->second : std::string("a forgotten task");
  };
}

double percentile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(values.size())));
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(rank, 1, values.size()) - 1);
  std::ranges::nth_element(values, at);
  return *at;
}

Json to_json(const RunReport& report, bool with_decisions) {
  Json json = Json::object();
  json.set("workload", report.workload);
  json.set("device", report.device);
  json.set("end_us", report.end_us);
  json.set("used_us", report.used_us);
  Json tasks = Json::array();
  for (const TaskReport& task : report.tasks) tasks.push_back(task_json(task));
  json.set("tasks", std::move(tasks));
  Json partitions = Json::array();
  for (const PartitionStatus& partition : report.partitions)
    partitions.push_back(partition_json(partition, report.used_us));
  json.set("partitions", std::move(partitions));
  json.set("decisions_made", report.decisions_made);
  if (!with_decisions) return json;
  const TaskNames names = names_of(report);
  Json decisions = Json::array();
  for (const Decision& decision : report.decisions) decisions.push_back(to_json(decision, names));
  json.set("decisions", std::move(decisions));
  return json;
}

std::vector<TraceEvent> trace_events(const RunReport& report) {
  const TaskNames names = names_of(report);
  std::vector<TraceEvent> events;
  // Tracks appear in the order of the file, whoever runs first.
  for (const TaskReport& task : report.tasks) {
    const TaskStatus& status = task.status;
    if (!status.arrived_us || !status.ended_us) continue;
    Json arguments = Json::object();
    arguments.set("class", name(status.task.qos));
    arguments.set("state", name(status.state));
    if (!status.message.empty()) arguments.set("message", status.message);
    events.push_back({.process = "tasks",
                      .track = status.task.name,
                      .name = std::string(name(status.state)),
                      .category = "task",
                      .start_us = *status.arrived_us,
                      .duration_us = *status.ended_us - *status.arrived_us,
                      .arguments = std::move(arguments)});
  }
  for (const PieceReport& piece : report.pieces) {
    const std::string task = names(piece.id);
    events.push_back({.process = report.device,
                      .track = task,
                      .name = task,
                      .category = "kernel",
                      .start_us = piece.start_us,
                      .duration_us = piece.duration_us});
  }
  for (const Decision& decision : report.decisions) {
    if (decision.kind == DecisionKind::dispatch) continue;  // the piece itself is there
    Json arguments = to_json(decision, names);
    events.push_back({.kind = TraceEvent::Kind::instant,
                      .process = "decisions",
                      .track = names(decision.task),
                      .name = std::string(name(decision.kind)),
                      .category = "decision",
                      .start_us = decision.time_us,
                      .arguments = std::move(arguments)});
  }
  return events;
}

}  // namespace gpuforge::sched
