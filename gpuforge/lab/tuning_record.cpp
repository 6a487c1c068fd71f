#include "gpuforge/lab/tuning_record.h"

#include <array>
#include <cmath>

#include "gpuforge/base/error.h"

namespace gpuforge::lab {
namespace {

constexpr std::int64_t kSchema = 1;
constexpr std::array<std::string_view, 4> kOutcomes = {"good", "does not compile", "does not run",
                                                       "wrong result"};

Outcome outcome_named(const std::string& text) {
  for (std::size_t i = 0; i < kOutcomes.size(); ++i) {
    if (kOutcomes[i] == text) return static_cast<Outcome>(i);
  }
  throw Error(ErrorCode::parse, format_text("'{}' is no outcome", text));
}

DType dtype_named(const std::string& text) {
  const auto dtype = parse_dtype(text);
  if (!dtype) throw Error(ErrorCode::parse, format_text("'{}' is no dtype", text));
  return *dtype;
}

}  // namespace

std::string_view name(Outcome outcome) {
  return kOutcomes[static_cast<std::size_t>(outcome)];
}

Json to_json(const TuningRecord& record) {
  Json shape = Json::array();
  for (const std::int64_t extent : record.problem.shape) shape.push_back(extent);
  Json options = Json::object();
  for (const auto& [option, value] : record.problem.options) options.set(option, value);
  Json config = Json::object();
  for (const auto& [choice, value] : record.config) config.set(choice, value);
  Json json = Json::object();
  json.set("tuning", kSchema);
  json.set("product", record.device.product);
  json.set("arch", record.device.arch);
  json.set("op", record.key.op);
  json.set("variant", record.key.variant);
  json.set("dtype", name(record.key.dtype));
  json.set("shapes", record.key.shapes);
  json.set("shape", std::move(shape));
  json.set("options", std::move(options));
  json.set("config", std::move(config));
  json.set("default", record.is_default);
  json.set("key", record.compile_key);
  json.set("outcome", name(record.outcome));
  json.set("reason", record.reason);
  json.set("p50", record.p50);
  if (record.settled) json.set("settled", true);
  json.set("unit", record.unit);
  json.set("program", record.program);
  json.set("date", record.date);
  return json;
}

TuningRecord tuning_record(const Json& json) {
  if (const std::int64_t schema = json.at("tuning").as_integer(); schema != kSchema)
    throw Error(ErrorCode::parse, format_text("its schema is {}; this program reads {}", schema, kSchema));
  TuningRecord record;
  record.device = {json.at("product").as_string(), json.at("arch").as_string()};
  record.key = {json.at("op").as_string(), json.at("variant").as_string(),
                dtype_named(json.at("dtype").as_string()), json.at("shapes").as_string()};
  record.problem.dtype = record.key.dtype;
  for (const Json& extent : json.at("shape").as_array()) record.problem.shape.push_back(extent.as_integer());
  for (const auto& [option, value] : json.at("options").as_object())
    record.problem.options[option] = value.as_string();
  for (const auto& [choice, value] : json.at("config").as_object())
    record.config[choice] = value.as_integer();
  record.is_default = json.at("default").as_bool();
  record.compile_key = json.at("key").as_string();
  record.outcome = outcome_named(json.at("outcome").as_string());
  record.reason = json.at("reason").as_string();
  record.p50 = json.at("p50").as_double();
  if (const Json* const settled = json.find("settled")) record.settled = settled->as_bool();
  record.unit = json.at("unit").as_string();
  record.program = json.at("program").as_string();
  record.date = json.at("date").as_string();
  if (!std::isfinite(record.p50) || record.p50 < 0)
    throw Error(ErrorCode::parse, format_text("a p50 of {}", record.p50));
  return record;
}

}  // namespace gpuforge::lab
