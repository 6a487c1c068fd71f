// gpuforge profile extract: what an ncu report says, in one screen a launch.
#include <algorithm>

#include "cli/profile_verbs.h"
#include "cli/report.h"
#include "gpuforge/base/child_process.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/lab/profiler.h"

namespace gpuforge::cli {
namespace {

constexpr std::chrono::minutes kImportLimit{10};
constexpr std::string_view kGroups[] = {lab::kGroupLaunch, lab::kGroupThroughput, lab::kGroupPipes,
                                        lab::kGroupStalls, lab::kGroupMemory};

std::string shown(const lab::Measured& measured) {
  const double value = measured.value;
  if (measured.unit == "ns")
    return value < 1e3   ? format_text("{:.0f} ns", value)
           : value < 1e6 ? format_text("{:.2f} us", value / 1e3)
                         : show_ms(value / 1e6);
  if (measured.unit.starts_with("byte")) return show_bytes(static_cast<std::uint64_t>(std::max(value, 0.0)));
  if (measured.unit == "%") return format_text("{:.1f} %", value);
  const bool whole = value == static_cast<double>(static_cast<std::int64_t>(value));
  return whole ? format_text("{}", static_cast<std::int64_t>(value)) : format_text("{:.2f}", value);
}

struct Line {
  std::string label;
  std::string value;
};

std::string aligned(const std::vector<Line>& lines) {
  std::size_t label = 0, value = 0;
  for (const Line& line : lines) {
    label = std::max(label, line.label.size());
    value = std::max(value, line.value.size());
  }
  std::string out;
  for (const Line& line : lines)
    out += "  " + line.label + std::string(label - line.label.size() + 2 + value - line.value.size(), ' ') +
           line.value + '\n';
  return out;
}

// The largest first, with their share; those of zero say nothing.
std::vector<Line> stall_lines(std::vector<const lab::ProfiledValue*> values) {
  double total = 0;
  std::erase_if(values,
                [](const lab::ProfiledValue* each) { return !each->measured || each->measured->value <= 0; });
  for (const lab::ProfiledValue* each : values) total += each->measured->value;
  std::stable_sort(values.begin(), values.end(),
                   [](const auto* a, const auto* b) { return a->measured->value > b->measured->value; });
  std::vector<Line> lines;
  for (const lab::ProfiledValue* each : values)
    lines.push_back({std::string(each->metric->label), format_text("{:.2f}  {:4.1f} %", each->measured->value,
                                                                   100 * each->measured->value / total)});
  return lines;
}

std::string group_text(const lab::ProfiledLaunch& launch, std::string_view group) {
  std::vector<const lab::ProfiledValue*> values;
  for (const lab::ProfiledValue& each : launch.values)
    if (each.metric->group == group) values.push_back(&each);
  const bool has_any =
      std::any_of(values.begin(), values.end(), [](const auto* each) { return each->measured; });
  const std::string title = group == lab::kGroupStalls
                                ? "warp stalls (cycles an instruction waits, and their share)"
                                : std::string(group);
  if (!has_any) return title + ": n/a, not in the report (ncu --set full has it)\n";
  std::vector<Line> lines;
  if (group == lab::kGroupStalls) {
    lines = stall_lines(std::move(values));
  } else {
    for (const lab::ProfiledValue* each : values)
      lines.push_back({std::string(each->metric->label), each->measured ? shown(*each->measured) : "n/a"});
  }
  return title + "\n" + aligned(lines);
}

std::string key(std::string_view label) {
  std::string out(label);
  std::replace(out.begin(), out.end(), ' ', '_');
  return out;
}

}  // namespace

std::string ncu_report_text(const lab::NcuReport& report) {
  std::string out;
  for (const lab::ProfiledLaunch& launch : report.launches) {
    out += format_text("{}launch {}: {}, grid {}, block {}{}\n", out.empty() ? "" : "\n", launch.id,
                       launch.kernel, launch.grid, launch.block,
                       launch.device.empty() ? "" : ", " + launch.device);
    for (const std::string_view group : kGroups) out += group_text(launch, group);
  }
  return out;
}

Json ncu_report_json(const lab::NcuReport& report) {
  Json launches = Json::array();
  for (const lab::ProfiledLaunch& launch : report.launches) {
    Json one = Json::object();
    one.set("id", launch.id);
    one.set("kernel", launch.kernel);
    one.set("grid", launch.grid);
    one.set("block", launch.block);
    one.set("device", launch.device);
    for (const std::string_view group : kGroups) {
      Json body = Json::object();
      for (const lab::ProfiledValue& each : launch.values) {
        if (each.metric->group != group) continue;
        Json value = Json();
        if (each.measured) {
          value = Json::object();
          value.set("value", each.measured->value);
          value.set("unit", each.measured->unit);
          value.set("metric", each.name);
        }
        body.set(key(each.metric->label), std::move(value));
      }
      one.set(key(group), std::move(body));
    }
    launches.push_back(std::move(one));
  }
  return launches;
}

lab::NcuReport open_ncu_report(Session& session, const std::filesystem::path& path) {
  const std::string what = path.string();
  if (path.extension() != lab::facts(lab::Profiler::ncu).extension)
    return lab::read_ncu_report(read_file(path), what);
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed))
    throw Error(ErrorCode::io, format_text("profile: there is no file {}", what));
  const auto ncu = lab::find_profiler(lab::Profiler::ncu, session.environment);
  if (!ncu)
    throw Error(
        ErrorCode::unavailable,
        format_text(
            "profile: ncu is needed to read {}, and it is not on this machine; {}, or export the report "
            "where it is (ncu --import {} --csv --page raw > report.csv) and extract the .csv",
            what, lab::facts(lab::Profiler::ncu).fix, what));
  const ChildResult result = run_child(*ncu, {"--import", what, "--csv", "--page", "raw"}, kImportLimit);
  if (!result.good())
    throw Error(
        ErrorCode::parse,
        format_text("profile: {} could not read {}: {}", ncu->string(), what, describe(result, kImportLimit)),
        result.out + result.err);
  return lab::read_ncu_report(result.out, what);
}

int warn_if_cut_off(Session& session, const lab::NcuReport& report, std::string_view what) {
  if (!report.cut_off) return kDone;
  session.messages.write(
      LogLevel::error,
      format_text("profile: {} is cut off in the middle of a launch; the {} before it {}", what,
                  report.launches.size(), report.launches.size() == 1 ? "is shown" : "are shown"));
  return kWrong;
}

int profile_extract(Session& session, const Invocation& invocation) {
  GPUFORGE_CHECK(invocation.positionals.size() == 2,
                 "profile extract: REPORT is missing: a .ncu-rep, or a .csv of ncu --csv --page raw");
  const std::string& path = invocation.positionals[1];
  lab::NcuReport report = open_ncu_report(session, path);
  if (const auto kernel = invocation.value("kernel")) lab::keep_kernel(report, *kernel);
  if (session.json) {
    Json json = document("profile");
    json.set("report", path);
    json.set("complete", !report.cut_off);
    json.set("launches", ncu_report_json(report));
    session.out.document(json);
  } else {
    session.out.write(ncu_report_text(report));
  }
  session.out.flush();
  return warn_if_cut_off(session, report, path);
}

}  // namespace gpuforge::cli
