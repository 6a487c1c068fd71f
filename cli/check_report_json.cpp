#include "cli/check_report_json.h"

#include <limits>

#include "gpuforge/base/error.h"

namespace gpuforge::cli {
namespace {

// What JSON has no number for is written as a text.
double number_of(const Json& json) {
  if (!json.is_string()) return json.as_double();
  if (json.as_string() == "NaN") return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return json.as_string() == "-Infinity" ? -infinity : infinity;
}

std::size_t count_of(const Json& json) {
  return static_cast<std::size_t>(json.as_integer());
}

Json output_json(const lab::OutputReport& output) {
  Json json = Json::object();
  json.set("name", output.name);
  Json shape = Json::array();
  for (const std::int64_t extent : output.shape) shape.push_back(extent);
  json.set("shape", std::move(shape));
  const lab::Comparison& c = output.comparison;
  json.set("elements", std::uint64_t{c.elements});
  json.set("wrong", std::uint64_t{c.wrong});
  json.set("worst", std::uint64_t{c.worst});
  json.set("got", c.got);
  json.set("want", c.want);
  json.set("allowed", c.allowed);
  json.set("worst_ratio", c.worst_ratio);
  json.set("norm_error", c.norm_error);
  json.set("norm_allowed", c.norm_allowed);
  json.set("norm_exceeded", c.norm_exceeded);
  Json map = Json::object();
  map.set("rows", output.map.rows);
  map.set("columns", output.map.columns);
  map.set("cell_rows", output.map.cell_rows);
  map.set("cell_columns", output.map.cell_columns);
  Json lines = Json::array();
  for (const std::string& line : output.map.lines) lines.push_back(line);
  map.set("lines", std::move(lines));
  json.set("map", std::move(map));
  return json;
}

lab::OutputReport output_of(const Json& json) {
  lab::OutputReport output;
  output.name = json.at("name").as_string();
  for (const Json& extent : json.at("shape").as_array()) output.shape.push_back(extent.as_integer());
  lab::Comparison& c = output.comparison;
  c.elements = count_of(json.at("elements"));
  c.wrong = count_of(json.at("wrong"));
  c.worst = count_of(json.at("worst"));
  c.got = number_of(json.at("got"));
  c.want = number_of(json.at("want"));
  c.allowed = number_of(json.at("allowed"));
  c.worst_ratio = number_of(json.at("worst_ratio"));
  c.norm_error = number_of(json.at("norm_error"));
  c.norm_allowed = number_of(json.at("norm_allowed"));
  c.norm_exceeded = json.at("norm_exceeded").as_bool();
  const Json& map = json.at("map");
  output.map.rows = map.at("rows").as_integer();
  output.map.columns = map.at("columns").as_integer();
  output.map.cell_rows = map.at("cell_rows").as_integer();
  output.map.cell_columns = map.at("cell_columns").as_integer();
  for (const Json& line : map.at("lines").as_array()) output.map.lines.push_back(line.as_string());
  return output;
}

}  // namespace

Json report_json(const lab::CheckReport& report) {
  Json json = Json::object();
  Json faults = Json::array();
  for (const std::string& fault : report.faults) faults.push_back(fault);
  json.set("faults", std::move(faults));
  json.set("device_lost", report.device_lost);
  Json outputs = Json::array();
  for (const lab::OutputReport& output : report.outputs) outputs.push_back(output_json(output));
  json.set("outputs", std::move(outputs));
  return json;
}

lab::CheckReport report_of(const Json& json) {
  lab::CheckReport report;
  for (const Json& fault : json.at("faults").as_array()) report.faults.push_back(fault.as_string());
  report.device_lost = json.at("device_lost").as_bool();
  for (const Json& output : json.at("outputs").as_array()) report.outputs.push_back(output_of(output));
  return report;
}

}  // namespace gpuforge::cli
