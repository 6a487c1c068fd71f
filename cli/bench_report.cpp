#include "cli/bench_report.h"

#include <algorithm>
#include <chrono>

#include "cli/device_json.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/lab/bench_json.h"

namespace gpuforge {
std::string_view build_commit();  // generated
}

namespace gpuforge::cli {
namespace {

bool any(const BenchReport& report, bool (*holds)(const lab::BenchResult&)) {
  return std::any_of(report.rows.begin(), report.rows.end(),
                     [&](const BenchRow& row) { return holds(row.result); });
}

std::string change_text(const BenchRow& row) {
  if (!row.change) return row.result.good() ? "new" : "-";
  return format_text("{:+.1f} % {}", (row.change->ratio - 1) * 100, name(row.change->verdict));
}

std::string number(double value) {
  return value >= 100 ? format_text("{:.0f}", value)
         : value >= 1 ? format_text("{:.1f}", value)
                      : format_text("{:.3f}", value);
}

struct Column {
  std::string heading;
  bool shown;
  std::string (*cell)(const BenchRow&);
};

std::vector<Column> columns(const BenchReport& report) {
  using R = lab::BenchResult;
  const bool timed = any(report, [](const R& r) { return r.measurement.has_value(); });
  const bool counted = any(report, [](const R& r) { return r.counts.has_value(); });
  const bool flops = timed && any(report, [](const R& r) { return r.cost.flops > 0; });
  const bool ceilings = any(report, [](const R& r) { return r.ceiling.has_value(); });
  const bool clocks = any(report, [](const R& r) { return r.measurement && r.measurement->clock; });
  const bool options = any(report, [](const R& r) { return !r.which.problem.options.empty(); });
  return {
      {"op", true, [](const BenchRow& row) { return row.result.which.op; }},
      {"variant", true,
       [](const BenchRow& row) {
         const lab::BenchCase& which = row.result.which;
         return which.backend == "kernel" ? which.variant : which.backend;
       }},
      {"dtype", true, [](const BenchRow& row) { return std::string(name(row.result.which.problem.dtype)); }},
      {"shape", true, [](const BenchRow& row) { return lab::shape_text(row.result.which.problem.shape); }},
      {"options", options, [](const BenchRow& row) { return options_text(row.result.which.problem); }},
      {">median", timed,
       [](const BenchRow& row) {
         return row.result.measurement ? show_time(row.result.measurement->summary.p50) : std::string("-");
       }},
      {">p90", timed,
       [](const BenchRow& row) {
         return row.result.measurement ? show_time(row.result.measurement->summary.p90) : std::string("-");
       }},
      {">min", timed,
       [](const BenchRow& row) {
         return row.result.measurement ? show_time(row.result.measurement->summary.min) : std::string("-");
       }},
      {">GB/s", timed,
       [](const BenchRow& row) { return row.result.measurement ? number(row.result.gb_per_s()) : "-"; }},
      {">% of ceiling", ceilings,
       [](const BenchRow& row) {
         return row.result.ceiling ? format_text("{:.1f}", row.result.share_of_ceiling() * 100) : "-";
       }},
      {">TFLOP/s", flops,
       [](const BenchRow& row) { return row.result.measurement ? number(row.result.tflop_per_s()) : "-"; }},
      {">SM MHz", clocks,
       [](const BenchRow& row) -> std::string {
         if (!row.result.measurement || !row.result.measurement->clock) return "-";
         const lab::ClockReport& clock = *row.result.measurement->clock;
         return format_text("{:.0f}{}", clock.mhz, clock.throttled() ? " throttled" : "");
       }},
      {">instructions", counted,
       [](const BenchRow& row) {
         return row.result.counts ? format_text("{}", row.result.counts->thread_instructions) : "-";
       }},
      {">sectors", counted,
       [](const BenchRow& row) {
         return row.result.counts ? format_text("{}", row.result.counts->global_sectors) : "-";
       }},
      {">moved", counted,
       [](const BenchRow& row) {
         return row.result.counts ? show_bytes(static_cast<std::uint64_t>(row.result.counts->bytes_moved()))
                                  : "-";
       }},
      {">x least", counted,
       [](const BenchRow& row) {
         return row.result.counts ? format_text("{:.2f}", row.result.counts->moved_over_least()) : "-";
       }},
      {">bank conflicts", counted,
       [](const BenchRow& row) {
         return row.result.counts ? format_text("{}", row.result.counts->bank_conflicts()) : "-";
       }},
      {"against the baseline", report.compared, [](const BenchRow& row) { return change_text(row); }},
      {"verified", true,
       [](const BenchRow& row) -> std::string {
         if (!row.result.good()) return "FAILED";
         return row.result.which.backend == "ref" ? "is the reference" : "yes";
       }},
  };
}

Json change_json(const BenchRow& row) {
  Json json = Json::object();
  json.set("case", to_string(row.result.which));
  json.set("verdict", row.change ? Json(name(row.change->verdict)) : Json("new"));
  if (row.change) {
    json.set("ratio", row.change->ratio);
    json.set("low", row.change->interval.low);
    json.set("high", row.change->interval.high);
  }
  return json;
}

}  // namespace

std::string time_stamp() {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  const auto day = std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds(seconds));
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::sys_seconds(seconds) - day);
  return format_text("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count());
}

std::string_view source_commit() {
  return build_commit();
}

std::string show_time(double milliseconds) {
  if (milliseconds < 1) return format_text("{:.2f} us", milliseconds * 1000);
  return show_ms(milliseconds);
}

std::string options_text(const lab::Problem& problem) {
  std::string text;
  for (const auto& [option, value] : problem.options) {
    text += format_text("{}{}={}", text.empty() ? "" : " ", option, value);
  }
  return text.empty() ? "-" : text;
}

std::string what_the_numbers_are(const BenchReport& report) {
  switch (report.device.kind) {
    case device::DeviceKind::cuda:
      return {};
    case device::DeviceKind::cpu:
      return format_text("Times are this CPU's ({}), not a GPU's.", report.device.product);
    case device::DeviceKind::sim:
      return format_text("Counted in the simulator ({}): what a GPU's memory would see. It has no times.",
                         report.device.pretended_arch);
  }
  throw Error(ErrorCode::internal, "cli: not a kind of device");
}

Table bench_table(const BenchReport& report) {
  const std::vector<Column> all = columns(report);
  std::vector<std::string> headings;
  for (const Column& column : all) {
    if (column.shown) headings.push_back(column.heading);
  }
  Table table(std::move(headings));
  for (const BenchRow& row : report.rows) {
    std::vector<std::string> cells;
    for (const Column& column : all) {
      if (column.shown) cells.push_back(column.cell(row));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

std::string bench_csv(const BenchReport& report) {
  Table table({"op", "variant", "backend", "dtype", "shape", "options", "status", "reason", "median_us",
               "p90_us", "min_us", "gb_per_s", "share_of_ceiling", "tflop_per_s", "sm_mhz",
               "thread_instructions", "global_sectors", "moved_over_least", "bank_conflicts"});
  for (const BenchRow& row : report.rows) {
    const lab::BenchResult& r = row.result;
    const auto& m = r.measurement;
    const auto& c = r.counts;
    const auto plain = [](bool there, double value) {
      return there ? format_text("{}", value) : std::string();
    };
    const auto whole = [](bool there, std::uint64_t value) {
      return there ? format_text("{}", value) : std::string();
    };
    const bool clock = m && m->clock;
    table.add_row(
        {r.which.op, r.which.variant, r.which.backend, std::string(name(r.which.problem.dtype)),
         lab::shape_text(r.which.problem.shape), options_text(r.which.problem), r.good() ? "ok" : "failed",
         r.failure, plain(m.has_value(), m ? m->summary.p50 * 1000 : 0),
         plain(m.has_value(), m ? m->summary.p90 * 1000 : 0),
         plain(m.has_value(), m ? m->summary.min * 1000 : 0), plain(m.has_value(), r.gb_per_s()),
         plain(r.ceiling.has_value(), r.share_of_ceiling()), plain(m && r.cost.flops > 0, r.tflop_per_s()),
         plain(clock, clock ? m->clock->mhz : 0), whole(c.has_value(), c ? c->thread_instructions : 0),
         whole(c.has_value(), c ? c->global_sectors : 0), plain(c.has_value(), c ? c->moved_over_least() : 0),
         whole(c.has_value(), c ? c->bank_conflicts() : 0)});
  }
  return table.csv();
}

std::string bench_choices(const BenchReport& report, int width) {
  std::string text;
  for (const BenchRow& row : report.rows) {
    const lab::BenchResult& result = row.result;
    std::string chosen = result.config_reason;
    if (chosen.empty()) {
      chosen = result.good() ? "there is nothing to choose" : "it failed before that was known";
    } else if (!result.config.empty()) {
      chosen = format_text("{}: {}", to_string(result.config), chosen);
    }
    const std::string line = format_text("{}: {}", to_string(result.which), chosen);
    text += (width > 0 ? wrap(line, width, 2, 2) : "- " + line) + "\n";
  }
  return text;
}

Json bench_document(const BenchRequest& request, const BenchReport& report) {
  Json json = document("bench");
  json.set("schema", lab::kBenchSchema);
  json.set("suite", request.suite.empty() ? Json() : Json(request.suite));
  json.set("time", time_stamp());
  json.set("commit", build_commit());
  json.set("device", device_json(report.device));
  json.set("compiler", report.compiler.empty() ? Json() : Json(report.compiler));
  Json measure = Json::object();
  measure.set("method", name(request.measure.method));
  measure.set("repetitions", request.measure.repetitions);
  measure.set("seconds", request.measure.seconds);
  measure.set("noise", request.measure.noise);
  measure.set("warmup", request.measure.warmup ? Json(std::uint64_t{*request.measure.warmup}) : Json());
  measure.set("iterations",
              request.measure.iterations ? Json(std::uint64_t{*request.measure.iterations}) : Json());
  json.set("measure", std::move(measure));
  json.set("note", what_the_numbers_are(report));
  Json cases = Json::array();
  for (const BenchRow& row : report.rows) cases.push_back(lab::to_json(row.result));
  json.set("cases", std::move(cases));
  if (report.compared) {
    Json changes = Json::array();
    for (const BenchRow& row : report.rows) changes.push_back(change_json(row));
    json.set("baseline", request.baseline->string());
    json.set("changes", std::move(changes));
    Json gone = Json::array();
    for (const std::string& which : report.gone) gone.push_back(which);
    json.set("gone", std::move(gone));
  }
  return json;
}

Baseline read_baseline(const std::filesystem::path& path) {
  Baseline baseline{.file = path.string()};
  const Json document = Json::parse(read_file(path), baseline.file);
  baseline.results = lab::read_bench_document(document, baseline.file);
  const Json* const device = document.find("device");
  const Json* const product = device != nullptr && device->is_object() ? device->find("product") : nullptr;
  if (product != nullptr && product->is_string()) baseline.product = product->as_string();
  return baseline;
}

void check_baseline(const Baseline& baseline, const device::DeviceFacts& device) {
  GPUFORGE_CHECK(baseline.product == device.product,
                 "bench: {} was measured on {}, and this is {}: times of different devices do not compare",
                 baseline.file, baseline.product.empty() ? "an unknown device" : baseline.product,
                 device.product);
  GPUFORGE_CHECK(device.kind != device::DeviceKind::sim,
                 "bench: the simulator has no times to compare; use --device cuda:0 or cpu");
}

void compare_with_baseline(const Baseline& baseline, double least_change, BenchReport& report) {
  report.compared = true;
  for (const lab::BenchResult& old : baseline.results) {
    const auto found = std::find_if(report.rows.begin(), report.rows.end(),
                                    [&](const BenchRow& row) { return row.result.which == old.which; });
    if (found == report.rows.end()) {
      report.gone.push_back(to_string(old.which));
    } else if (old.measurement && found->result.measurement) {
      const std::string& then = old.measurement->method;
      const std::string& now = found->result.measurement->method;
      GPUFORGE_CHECK(then == now,
                     "bench: {} has {} measured by {}, and this run by {}: give the same --method",
                     baseline.file, to_string(old.which), then, now);
      found->change =
          lab::compare_timings(old.measurement->samples, found->result.measurement->samples, least_change);
    }
  }
}

}  // namespace gpuforge::cli
