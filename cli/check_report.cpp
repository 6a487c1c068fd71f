#include "cli/check_report.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "cli/help.h"
#include "cli/terminal.h"
#include "gpuforge/base/quantity.h"

namespace gpuforge::cli {
namespace {

constexpr std::size_t kDtype = 5;
constexpr std::size_t kCount = 6;
constexpr std::size_t kWorst = 8;
constexpr std::size_t kTime = 9;

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  out.append(width - std::min(width, text.size()), ' ');
  return out;
}
std::string right(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + std::string(text);
}

double worst_ratio(const lab::CheckReport& report) {
  double worst = 0;
  for (const lab::OutputReport& output : report.outputs)
    worst = std::max(worst, output.comparison.worst_ratio);
  return worst;
}

// Less says more.
auto obscurity(const lab::CaseResult& result) {
  const lab::CheckCase& which = result.planned.which;
  return std::tuple(which.contents != lab::Contents::normal, which.placement != lab::Placement::contiguous,
                    -element_count(which.problem.shape));
}

std::string repeat_command(const lab::CaseResult& result, std::uint64_t seed, std::string_view where) {
  const lab::CheckCase& which = result.planned.which;
  std::string text = format_text(
      "gpuforge check {} --variant {} --dtype {} --shape {} --contents {} --placement {}",
      result.planned.op->file.empty() ? result.planned.op->name : result.planned.op->file.string(),
      which.variant, name(which.problem.dtype), lab::shape_text(which.problem.shape),
      lab::name(which.contents), lab::name(which.placement));
  for (const auto& [option, value] : which.problem.options)
    text += format_text(" --set {}={}", option, value);
  if (seed != 1) text += format_text(" --seed {}", seed);
  return text + std::string(where);
}

std::string map_text(const lab::OutputReport& output, int columns) {
  const lab::ErrorMap& map = output.map;
  if (map.lines.empty()) return {};
  const bool single = map.cell_rows == 1 && map.cell_columns == 1;
  std::string text =
      wrap(
          format_text("where {} {} is wrong{}: '#' all of a cell, '+' some of it", output.name,
                      to_string(output.shape),
                      single ? std::string()
                             : format_text(" (a cell is {} x {} elements)", map.cell_rows, map.cell_columns)),
          columns, 2) +
      "\n";
  for (const std::string& line : map.lines) text += "    " + line + "\n";
  return text;
}

Json shape_json(const Shape& shape) {
  Json list = Json::array();
  for (const std::int64_t extent : shape) list.push_back(extent);
  return list;
}

Json coordinate_json(const Shape& shape, std::size_t place) {
  Dims at = lab::coordinate(shape, place);
  return shape_json(at);
}

Json output_json(const lab::OutputReport& output) {
  const lab::Comparison& found = output.comparison;
  Json json = Json::object();
  json.set("name", output.name);
  json.set("shape", shape_json(output.shape));
  json.set("good", found.good());
  json.set("wrong", std::uint64_t{found.wrong});
  json.set("elements", std::uint64_t{found.elements});
  if (found.elements > 0) {
    Json worst = Json::object();
    worst.set("at", coordinate_json(output.shape, found.worst));
    worst.set("got", found.got);
    worst.set("expected", found.want);
    worst.set("allowed", found.allowed);
    worst.set("ratio", found.worst_ratio);
    json.set("worst", std::move(worst));
  }
  json.set("norm_error", found.norm_error);
  json.set("norm_allowed", found.norm_allowed);
  if (!output.map.lines.empty()) {
    Json map = Json::object();
    map.set("cell", shape_json({output.map.cell_rows, output.map.cell_columns}));
    Json lines = Json::array();
    for (const std::string& line : output.map.lines) lines.push_back(line);
    map.set("lines", std::move(lines));
    json.set("map", std::move(map));
  }
  return json;
}

}  // namespace

CheckGroup CheckGroup::of(const lab::PlannedCase& planned) {
  CheckGroup group;
  group.op = planned.op->name;
  group.variant = planned.which.variant;
  group.dtype = planned.which.problem.dtype;
  return group;
}

bool CheckGroup::takes(const lab::PlannedCase& planned) const {
  return op == planned.op->name && variant == planned.which.variant && dtype == planned.which.problem.dtype;
}

void CheckGroup::add(const lab::CaseResult& result) {
  ++cases;
  failed += result.report.good() ? 0 : 1;
  worst = std::max(worst, worst_ratio(result.report));
  seconds += result.seconds;
}

CheckTable::CheckTable(const lab::CheckPlan& plan, int columns) {
  for (const lab::PlannedCase& planned : plan.cases) {
    op_ = std::max(op_, planned.op->name.size());
    variant_ = std::max(variant_, planned.which.variant.size());
  }
  narrow_ = op_ + variant_ + kDtype + 2 * kCount + kWorst + kTime + 12 > static_cast<std::size_t>(columns);
}

std::string CheckTable::row(std::string_view op, std::string_view variant, std::string_view dtype,
                            std::string_view cases, std::string_view failed, std::string_view worst,
                            std::string_view time) const {
  std::string line = padded(op, op_) + "  " + padded(variant, variant_) + "  " + padded(dtype, kDtype) +
                     "  " + right(cases, kCount) + "  " + right(failed, kCount);
  if (!narrow_) line += "  " + right(worst, kWorst) + "  " + right(time, kTime);
  return line;
}

std::string CheckTable::heading() const {
  return row("op", "variant", "dtype", "cases", "failed", "error", "time");
}

std::string CheckTable::line(const CheckGroup& group) const {
  return row(group.op, group.variant, name(group.dtype), std::to_string(group.cases),
             group.failed == 0 ? "-" : std::to_string(group.failed),
             group.worst == 0 ? "exact" : format_text("{:.3g}", group.worst), show_ms(1000 * group.seconds));
}

std::vector<const lab::CaseResult*> telling_failures(std::span<const lab::CaseResult> results) {
  struct Failure {
    const lab::CaseResult* result;
    std::size_t group;
    std::size_t turn;  // of its group
  };
  std::vector<Failure> list;
  std::size_t group = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i > 0 && !CheckGroup::of(results[i].planned).takes(results[i - 1].planned)) ++group;
    if (!results[i].report.good()) list.push_back({&results[i], group, 0});
  }
  std::stable_sort(list.begin(), list.end(), [](const Failure& a, const Failure& b) {
    return std::pair(a.group, obscurity(*a.result)) < std::pair(b.group, obscurity(*b.result));
  });
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (list[i].group == list[i - 1].group) list[i].turn = list[i - 1].turn + 1;
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Failure& a, const Failure& b) { return a.turn < b.turn; });
  std::vector<const lab::CaseResult*> ordered;
  for (const Failure& failure : list) ordered.push_back(failure.result);
  return ordered;
}

std::string failure_text(const lab::CaseResult& result, std::uint64_t seed, std::string_view where,
                         int columns) {
  std::string text =
      wrap(format_text("FAILED {} {}", result.planned.op->name, lab::to_string(result.planned.which)),
           columns, 0) +
      "\n";
  for (const std::string& complaint : lab::complaints(result.report)) {
    text += "- " + wrap(complaint, columns, 2, 2) + "\n";
  }
  for (const lab::OutputReport& output : result.report.outputs) text += map_text(output, columns);
  text += "  again:\n" + wrap_command_line(repeat_command(result, seed, where), columns, 2) + "\n";
  return text;
}

Json case_json(const lab::CaseResult& result) {
  const lab::CheckCase& which = result.planned.which;
  Json json = Json::object();
  json.set("op", result.planned.op->name);
  json.set("variant", which.variant);
  json.set("dtype", name(which.problem.dtype));
  json.set("shape", shape_json(which.problem.shape));
  Json options = Json::object();
  for (const auto& [option, value] : which.problem.options) options.set(option, value);
  json.set("options", std::move(options));
  json.set("contents", lab::name(which.contents));
  json.set("placement", lab::name(which.placement));
  json.set("good", result.report.good());
  Json complaints = Json::array();
  for (const std::string& complaint : lab::complaints(result.report)) complaints.push_back(complaint);
  json.set("complaints", std::move(complaints));
  Json outputs = Json::array();
  for (const lab::OutputReport& output : result.report.outputs) outputs.push_back(output_json(output));
  json.set("outputs", std::move(outputs));
  json.set("seconds", result.seconds);
  return json;
}

Json group_json(const CheckGroup& group) {
  Json json = Json::object();
  json.set("op", group.op);
  json.set("variant", group.variant);
  json.set("dtype", name(group.dtype));
  json.set("cases", std::uint64_t{group.cases});
  json.set("passed", std::uint64_t{group.cases - group.failed});
  json.set("failed", std::uint64_t{group.failed});
  json.set("worst_ratio", group.worst);
  json.set("seconds", group.seconds);
  return json;
}

}  // namespace gpuforge::cli
