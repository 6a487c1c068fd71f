#include "gpuforge/context/profile_report.h"

#include <algorithm>
#include <utility>

#include "gpuforge/base/format.h"

namespace gpuforge {
namespace {

double mebibytes(double bytes) {
  return bytes / (1 << 20);
}

std::string rate(double value, const char* unit) {
  return value > 0 ? format_text("{:.2f} {}", value, unit) : "-";
}

}  // namespace

MemoryDifference difference(const MemorySnapshot& from, const MemorySnapshot& to) {
  MemoryDifference out{from.name, to.name, (to.at_us - from.at_us) / 1e6, 0, {}};
  out.used_bytes = static_cast<std::int64_t>(to.used_bytes) - static_cast<std::int64_t>(from.used_bytes);
  for (const auto& [tag, bytes] : to.bytes_by_tag) out.bytes_by_tag[tag] += static_cast<std::int64_t>(bytes);
  for (const auto& [tag, bytes] : from.bytes_by_tag)
    out.bytes_by_tag[tag] -= static_cast<std::int64_t>(bytes);
  std::erase_if(out.bytes_by_tag, [](const auto& tag) { return tag.second == 0; });
  return out;
}

std::string to_text(const MemoryDifference& difference) {
  std::string text = format_text("{} to {}: {:+.2f} MiB in {:.3f} s", difference.from, difference.to,
                                 mebibytes(static_cast<double>(difference.used_bytes)), difference.seconds);
  for (const auto& [tag, bytes] : difference.bytes_by_tag) {
    text += format_text(", {} {:+.2f} MiB", tag, mebibytes(static_cast<double>(bytes)));
  }
  return text;
}

std::vector<ProfileTotal> ProfileReport::totals() const {
  std::map<std::pair<std::string_view, std::string_view>, ProfileTotal> by_name;
  for (const ProfileSpan& span : spans) {
    ProfileTotal& total = by_name[{span.category, span.name}];
    if (total.count == 0) {
      total.name = span.name;
      total.category = span.category;
      total.least_us = span.duration_us;
    }
    ++total.count;
    total.total_us += span.duration_us;
    total.least_us = std::min(total.least_us, span.duration_us);
    total.most_us = std::max(total.most_us, span.duration_us);
    total.flops += span.flops;
    total.bytes += span.bytes;
  }
  std::vector<ProfileTotal> sorted;
  for (auto& [key, total] : by_name) sorted.push_back(std::move(total));
  std::ranges::stable_sort(sorted, std::greater(), &ProfileTotal::total_us);
  return sorted;
}

std::string to_text(const ProfileReport& report) {
  std::string text =
      format_text("{:<32} {:<8} {:>7} {:>11} {:>10} {:>10} {:>10} {:>14} {:>12}\n", "name", "kind", "count",
                  "total ms", "mean us", "least us", "most us", "flops", "bytes");
  for (const ProfileTotal& total : report.totals()) {
    text += format_text("{:<32} {:<8} {:>7} {:>11.3f} {:>10.2f} {:>10.2f} {:>10.2f} {:>14} {:>12}\n",
                        total.name, total.category, total.count, total.total_us / 1e3,
                        total.total_us / static_cast<double>(total.count), total.least_us, total.most_us,
                        rate(total.tflops(), "TFLOP/s"), rate(total.gbps(), "GB/s"));
  }
  for (const MemorySnapshot& one : report.snapshots) {
    text += format_text("memory {}: {:.2f} of {:.2f} MiB used on {}\n", one.name,
                        mebibytes(static_cast<double>(one.used_bytes)),
                        mebibytes(static_cast<double>(one.total_bytes)), report.device);
  }
  for (std::size_t i = 1; i < report.snapshots.size(); ++i) {
    text += "memory " + to_text(difference(report.snapshots[i - 1], report.snapshots[i])) + "\n";
  }
  if (report.dropped > 0) {
    text += format_text("{} ranges have no time: {}\n", report.dropped, report.dropped_why);
  }
  return text;
}

Json to_json(const ProfileReport& report) {
  Json spans = Json::array();
  for (const ProfileSpan& span : report.spans) {
    Json one = Json::object();
    one.set("name", span.name).set("category", span.category).set("track", span.track);
    one.set("start_us", span.start_us).set("duration_us", span.duration_us);
    if (span.flops > 0) one.set("flops", span.flops);
    if (span.bytes > 0) one.set("bytes", span.bytes);
    spans.push_back(std::move(one));
  }
  Json totals = Json::array();
  for (const ProfileTotal& total : report.totals()) {
    Json one = Json::object();
    one.set("name", total.name).set("category", total.category).set("count", total.count);
    one.set("total_us", total.total_us).set("least_us", total.least_us).set("most_us", total.most_us);
    if (total.flops > 0) one.set("tflops", total.tflops());
    if (total.bytes > 0) one.set("gbps", total.gbps());
    totals.push_back(std::move(one));
  }
  Json snapshots = Json::array();
  for (const MemorySnapshot& snapshot : report.snapshots) {
    Json tags = Json::object();
    for (const auto& [tag, bytes] : snapshot.bytes_by_tag) tags.set(tag, std::uint64_t{bytes});
    Json one = Json::object();
    one.set("name", snapshot.name).set("at_us", snapshot.at_us);
    one.set("used_bytes", std::uint64_t{snapshot.used_bytes});
    one.set("total_bytes", std::uint64_t{snapshot.total_bytes}).set("bytes_by_tag", std::move(tags));
    snapshots.push_back(std::move(one));
  }
  Json decisions = Json::array();
  for (const ProfileDecision& decision : report.decisions) {
    decisions.push_back(Json::object()
                            .set("name", decision.name)
                            .set("track", decision.track)
                            .set("at_us", decision.at_us)
                            .set("arguments", decision.arguments));
  }
  Json json = Json::object();
  json.set("device", report.device).set("clock_error_us", report.clock_error_us);
  json.set("totals", std::move(totals)).set("spans", std::move(spans));
  json.set("decisions", std::move(decisions)).set("memory", std::move(snapshots));
  json.set("dropped", report.dropped);
  if (report.dropped > 0) json.set("dropped_why", report.dropped_why);
  return json;
}

std::vector<TraceEvent> trace_events(const ProfileReport& report) {
  std::vector<TraceEvent> events;
  std::map<std::string, std::vector<double>> copy_lines_end;  // when each line of a track is free again
  for (const ProfileSpan& span : report.spans) {
    TraceEvent event;
    event.process = report.device;
    event.track = span.track;
    event.name = span.name;
    event.category = span.category;
    event.start_us = span.start_us;
    event.duration_us = span.duration_us;
    if (span.flops > 0 && span.duration_us > 0)
      event.arguments.set("TFLOP/s", span.flops / span.duration_us / 1e6);
    if (span.bytes > 0 && span.duration_us > 0)
      event.arguments.set("GB/s", span.bytes / span.duration_us / 1e3);
    if (span.category == "copy") {
      std::vector<double>& ends = copy_lines_end[span.track];
      auto line = std::ranges::find_if(ends, [&](double end_us) { return end_us <= span.start_us; });
      if (line == ends.end()) line = ends.insert(ends.end(), 0);
      *line = span.start_us + span.duration_us;
      if (line != ends.begin()) event.track += format_text(", line {}", line - ends.begin() + 1);
    }
    events.push_back(std::move(event));
  }
  for (const ProfileDecision& decision : report.decisions) {
    TraceEvent event;
    event.kind = TraceEvent::Kind::instant;
    event.process = "decisions";
    event.track = decision.track;
    event.name = decision.name;
    event.start_us = decision.at_us;
    event.arguments = decision.arguments;
    events.push_back(std::move(event));
  }
  for (const MemorySnapshot& snapshot : report.snapshots) {
    TraceEvent event;
    event.kind = TraceEvent::Kind::counter;
    event.process = report.device;
    event.track = "memory";
    event.name = "MiB used";
    event.start_us = snapshot.at_us;
    event.value = mebibytes(static_cast<double>(snapshot.used_bytes));
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace gpuforge
