#include "cli/bench_page.h"

#include <algorithm>
#include <map>
#include <set>

#include "cli/svg_plot.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/base/version.h"

namespace gpuforge::cli {
namespace {

constexpr std::string_view kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;font-size:13px;display:block;overflow-x:auto}"
    "td,th{border-bottom:1px solid #8886;padding:.25em .7em;text-align:left;white-space:nowrap}"
    ".number{text-align:right;font-variant-numeric:tabular-nums}td.failed{color:#c00;font-weight:bold}svg{"
    "max-width:100%;height:auto;display:block;margin:1.5em 0}"
    ":root{color-scheme:light dark}";

double bytes_of(const lab::BenchResult& result) {
  return result.cost.bytes_read + result.cost.bytes_written;
}

std::string series_name(const lab::BenchCase& which) {
  return format_text("{} {} {}", which.op, which.backend == "kernel" ? which.variant : which.backend,
                     name(which.problem.dtype));
}

double length_of(const lab::BenchResult& result) {
  const Shape& shape = result.which.problem.shape;
  return shape.empty() ? 1 : static_cast<double>(shape.back());
}

// Results with a time, by series, in the order they were asked for.
std::map<std::string, std::vector<const lab::BenchResult*>> timed_series(const BenchReport& report) {
  std::map<std::string, std::vector<const lab::BenchResult*>> all;
  for (const BenchRow& row : report.rows) {
    if (row.result.measurement) all[series_name(row.result.which)].push_back(&row.result);
  }
  return all;
}

// Against the bytes; where a suite cuts as many bytes into rows of different lengths, against the lengths.
Plot bandwidth_plot(const BenchReport& report) {
  const auto all = timed_series(report);
  std::set<double> sizes, lengths;
  for (const auto& [name, list] : all) {
    for (const lab::BenchResult* result : list) {
      sizes.insert(bytes_of(*result));
      lengths.insert(length_of(*result));
    }
  }
  const bool by_length = sizes.size() == 1 && lengths.size() > 1;
  Plot plot{.title = by_length ? "Bandwidth against the length of the last axis" : "Bandwidth against size",
            .x_label = by_length
                           ? format_text("elements; {} bytes in all must be moved by each", *sizes.begin())
                           : "bytes that must be moved",
            .y_label = "GB/s",
            .log_x = true};
  const auto by_x = [](const PlotPoint& a, const PlotPoint& b) { return a.x < b.x; };
  std::map<std::pair<int, int>, PlotSeries> ceilings;
  for (const auto& [name, list] : all) {
    PlotSeries series{.name = name};
    for (const lab::BenchResult* result : list) {
      const double x = by_length ? length_of(*result) : bytes_of(*result);
      series.points.push_back({x, result->gb_per_s(),
                               format_text("{}: {:.0f} GB/s", to_string(result->which), result->gb_per_s())});
      if (!result->ceiling) continue;
      const auto& [reads, writes] = result->ceiling->proportion;
      PlotSeries& ceiling = ceilings[{reads, writes}];
      ceiling.name = format_text("ceiling, {} read : {} written", reads, writes);
      ceiling.dashed = true;
      ceiling.points.push_back({x, result->ceiling->gb_per_s, ""});
    }
    std::stable_sort(series.points.begin(), series.points.end(), by_x);
    plot.series.push_back(std::move(series));
  }
  for (auto& [proportion, ceiling] : ceilings) {
    std::stable_sort(ceiling.points.begin(), ceiling.points.end(), by_x);
    plot.series.push_back(std::move(ceiling));
  }
  return plot;
}

Plot roofline_plot(const BenchReport& report) {
  Plot plot{.title = "Roofline",
            .x_label = "operations per byte",
            .y_label = "GFLOP/s",
            .log_x = true,
            .log_y = true};
  double best = 0, low = 0, high = 0;
  for (const auto& [name, list] : timed_series(report)) {
    PlotSeries series{.name = name, .line = false};
    for (const lab::BenchResult* result : list) {
      const double intensity = bytes_of(*result) > 0 ? result->cost.flops / bytes_of(*result) : 0;
      if (intensity <= 0) continue;
      series.points.push_back(
          {intensity, result->tflop_per_s() * 1000,
           format_text("{}: {:.0f} GFLOP/s", to_string(result->which), result->tflop_per_s() * 1000)});
      low = low == 0 ? intensity : std::min(low, intensity);
      high = std::max(high, intensity);
      if (result->ceiling) best = std::max(best, result->ceiling->gb_per_s);
    }
    if (!series.points.empty()) plot.series.push_back(std::move(series));
  }
  if (best > 0 && low > 0) {
    plot.series.push_back({.name = format_text("what {:.0f} GB/s allow", best),
                           .points = {{low / 2, best * low / 2, ""}, {high * 2, best * high * 2, ""}},
                           .dashed = true});
  }
  return plot;
}

Plot history_plot(const BenchReport& report, const std::vector<HistoryPoint>& earlier) {
  Plot plot{.title = "History", .x_label = "run, this one last", .y_label = "GB/s"};
  for (const BenchRow& row : report.rows) {
    if (!row.result.measurement) continue;
    const std::string which = to_string(row.result.which);
    PlotSeries series{.name = which};
    for (const HistoryPoint& point : earlier) {
      if (point.which != which) continue;
      series.points.push_back({static_cast<double>(series.points.size() + 1), point.gb_per_s,
                               format_text("{} {}: {:.0f} GB/s", point.time, point.commit, point.gb_per_s)});
    }
    if (series.points.empty()) continue;
    series.points.push_back(
        {static_cast<double>(series.points.size() + 1), row.result.gb_per_s(), "this run"});
    plot.series.push_back(std::move(series));
  }
  return plot;
}

std::string table_html(const BenchReport& report) {
  const Table table = bench_table(report);
  std::string out = "<table>\n<tr>";
  const auto kind = [&](std::size_t column) { return table.is_right(column) ? " class=\"number\"" : ""; };
  for (std::size_t i = 0; i < table.headings().size(); ++i)
    out += format_text("<th{}>{}</th>", kind(i), escape_markup(table.headings()[i]));
  out += "</tr>\n";
  for (const auto& row : table.rows()) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += format_text("<td{}>{}</td>", row[i] == "FAILED" ? " class=\"failed\"" : kind(i),
                         escape_markup(row[i]));
    }
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

}  // namespace

std::string bench_page(const BenchRequest& request, const BenchReport& report,
                       const std::vector<HistoryPoint>& earlier) {
  const std::string title =
      format_text("gpuforge bench{}{}", request.suite.empty() ? "" : ": ", request.suite);
  std::string out = format_text(
      "<!doctype html>\n<html lang=\"en\"><head><meta "
      "charset=\"utf-8\"><title>{0}</title><style>{1}</style></head>"
      "<body>\n<h1>{0}</h1>\n<p>{2} ({3}), {4}; gpuforge {5}, commit {6}{7}.</p>\n",
      escape_markup(title), kStyle, escape_markup(report.device.product), escape_markup(report.device.name),
      time_stamp(), version(), escape_markup(source_commit()),
      report.compiler.empty() ? "" : format_text(", compiler {}", escape_markup(report.compiler)));
  if (const std::string note = what_the_numbers_are(report); !note.empty()) {
    out += format_text("<p><strong>{}</strong></p>\n", escape_markup(note));
  }
  out += table_html(report);
  for (const BenchRow& row : report.rows) {
    if (row.result.good()) continue;
    out += format_text("<p>{} failed: {}</p>\n", escape_markup(to_string(row.result.which)),
                       escape_markup(row.result.failure));
  }
  out += svg(bandwidth_plot(report));
  const std::string roofline = svg(roofline_plot(report));
  out += roofline.empty() ? "<p>No roofline: no case that was timed computes anything.</p>\n" : roofline;
  out += svg(history_plot(report, earlier));
  return out + "</body></html>\n";
}

}  // namespace gpuforge::cli
