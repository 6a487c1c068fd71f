#include "gpuforge/lab/bench_json.h"

namespace gpuforge::lab {
namespace {

Json shape_json(const Shape& shape) {
  Json list = Json::array();
  for (const std::int64_t extent : shape) list.push_back(extent);
  return list;
}

Json measurement_json(const Measurement& m) {
  Json json = Json::object();
  json.set("method", m.method);
  if (!m.note.empty()) json.set("note", m.note);
  json.set("p50_ms", m.summary.p50);
  json.set("p90_ms", m.summary.p90);
  json.set("min_ms", m.summary.min);
  json.set("max_ms", m.summary.max);
  json.set("mean_ms", m.summary.mean);
  json.set("median_low_ms", m.median.low);
  json.set("median_high_ms", m.median.high);
  json.set("calls_per_sample", std::uint64_t{m.calls_per_sample});
  json.set("operand_sets", std::uint64_t{m.sets});
  json.set("colder_than_cache", m.colder_than_cache);
  if (m.clock) {
    Json clock = Json::object();
    clock.set("sm_mhz", m.clock->mhz);
    clock.set("lowest_mhz", m.clock->lowest_mhz);
    clock.set("highest_mhz", m.clock->highest_mhz);
    clock.set("limit_mhz", m.clock->limit_mhz);
    clock.set("throttled", m.clock->throttled());
    json.set("clock", std::move(clock));
  }
  Json repetitions = Json::array();
  for (const auto& samples : m.samples) {
    Json list = Json::array();
    for (const double sample : samples) list.push_back(sample);
    repetitions.push_back(std::move(list));
  }
  json.set("samples_ms", std::move(repetitions));
  return json;
}

Measurement measurement_of(const Json& json) {
  Measurement m;
  m.method = json.at("method").as_string();
  if (const Json* note = json.find("note")) m.note = note->as_string();
  std::vector<double> all;
  for (const Json& repetition : json.at("samples_ms").as_array()) {
    auto& samples = m.samples.emplace_back();
    for (const Json& sample : repetition.as_array()) samples.push_back(sample.as_double());
    all.insert(all.end(), samples.begin(), samples.end());
  }
  m.summary = summarize(all);
  m.median = median_interval(all);
  m.calls_per_sample = static_cast<std::size_t>(json.at("calls_per_sample").as_integer());
  m.sets = static_cast<std::size_t>(json.at("operand_sets").as_integer());
  m.colder_than_cache = json.at("colder_than_cache").as_bool();
  if (const Json* clock = json.find("clock")) {
    m.clock = ClockReport{clock->at("sm_mhz").as_double(), clock->at("lowest_mhz").as_double(),
                          clock->at("highest_mhz").as_double(), clock->at("limit_mhz").as_double()};
  }
  return m;
}

struct CountField {
  const char* name;
  std::uint64_t Counts::*value;
};
constexpr CountField kCountFields[] = {
    {"launches", &Counts::launches},
    {"thread_instructions", &Counts::thread_instructions},
    {"warp_instructions", &Counts::warp_instructions},
    {"global_requests", &Counts::global_requests},
    {"global_sectors", &Counts::global_sectors},
    {"least_sectors", &Counts::least_sectors},
    {"shared_wavefronts", &Counts::shared_wavefronts},
    {"ideal_wavefronts", &Counts::ideal_wavefronts},
    {"divergent_branches", &Counts::divergent_branches},
};

Json counts_json(const Counts& counts) {
  Json json = Json::object();
  for (const CountField& field : kCountFields) json.set(field.name, counts.*field.value);
  json.set("bytes_moved", counts.bytes_moved());
  json.set("moved_over_least", counts.moved_over_least());
  json.set("bank_conflicts", counts.bank_conflicts());
  return json;
}

Json kernel_json(const KernelFacts& kernel) {
  Json json = Json::object();
  json.set("kernel", kernel.expression);
  json.set("key", kernel.key);
  json.set("arch", kernel.arch);
  json.set("compiler", kernel.compiler);
  json.set("registers", kernel.registers);
  json.set("spill_bytes", std::uint64_t{kernel.spill_bytes});
  return json;
}

Json ceiling_json(const Ceiling& ceiling) {
  Json json = Json::object();
  json.set("reads", ceiling.proportion.reads);
  json.set("writes", ceiling.proportion.writes);
  json.set("bytes", ceiling.bytes);
  json.set("gb_per_s", ceiling.gb_per_s);
  json.set("kernel", ceiling.kernel);
  return json;
}

}  // namespace

Json to_json(const BenchResult& result) {
  const BenchCase& which = result.which;
  Json json = Json::object();
  json.set("status", result.good() ? "ok" : "failed");
  if (!result.good()) json.set("reason", result.failure);
  json.set("op", which.op);
  json.set("variant", which.variant);
  json.set("backend", which.backend);
  json.set("dtype", name(which.problem.dtype));
  json.set("shape", shape_json(which.problem.shape));
  Json options = Json::object();
  for (const auto& [option, value] : which.problem.options) options.set(option, value);
  json.set("options", std::move(options));
  Json config = Json::object();
  for (const auto& [choice, value] : result.config) config.set(choice, value);
  json.set("config", std::move(config));
  json.set("config_reason", result.config_reason);
  Json kernels = Json::array();
  for (const KernelFacts& kernel : result.kernels) kernels.push_back(kernel_json(kernel));
  json.set("kernels", std::move(kernels));
  json.set("bytes_read", result.cost.bytes_read);
  json.set("bytes_written", result.cost.bytes_written);
  json.set("flops", result.cost.flops);
  if (result.measurement) {
    json.set("gb_per_s", result.gb_per_s());
    json.set("tflop_per_s", result.tflop_per_s());
    json.set("time", measurement_json(*result.measurement));
  }
  if (result.ceiling) {
    json.set("share_of_ceiling", result.share_of_ceiling());
    json.set("ceiling", ceiling_json(*result.ceiling));
  }
  if (result.counts) json.set("counts", counts_json(*result.counts));
  return json;
}

BenchResult bench_result(const Json& json) {
  BenchResult result;
  BenchCase& which = result.which;
  if (json.at("status").as_string() != "ok") {
    const Json* const reason = json.find("reason");
    result.failure = reason != nullptr ? reason->as_string() : "it does not say why";
  }
  which.op = json.at("op").as_string();
  which.variant = json.at("variant").as_string();
  which.backend = json.at("backend").as_string();
  const std::string& dtype = json.at("dtype").as_string();
  const auto parsed = parse_dtype(dtype);
  if (!parsed) throw Error(ErrorCode::parse, format_text("expected a dtype; found '{}'", dtype));
  which.problem.dtype = *parsed;
  for (const Json& extent : json.at("shape").as_array()) which.problem.shape.push_back(extent.as_integer());
  for (const auto& [option, value] : json.at("options").as_object()) {
    which.problem.options[option] = value.as_string();
  }
  for (const auto& [choice, value] : json.at("config").as_object())
    result.config[choice] = value.as_integer();
  if (const Json* const reason = json.find("config_reason")) result.config_reason = reason->as_string();
  for (const Json& kernel : json.at("kernels").as_array()) {
    result.kernels.push_back(
        {.expression = kernel.at("kernel").as_string(),
         .key = kernel.at("key").as_string(),
         .arch = kernel.at("arch").as_string(),
         .compiler = kernel.at("compiler").as_string(),
         .registers = static_cast<int>(kernel.at("registers").as_integer()),
         .spill_bytes = static_cast<std::size_t>(kernel.at("spill_bytes").as_integer())});
  }
  result.cost = {json.at("bytes_read").as_double(), json.at("bytes_written").as_double(),
                 json.at("flops").as_double()};
  if (const Json* time = json.find("time")) result.measurement = measurement_of(*time);
  if (const Json* ceiling = json.find("ceiling")) {
    result.ceiling = Ceiling{{static_cast<int>(ceiling->at("reads").as_integer()),
                              static_cast<int>(ceiling->at("writes").as_integer())},
                             ceiling->at("bytes").as_double(),
                             ceiling->at("gb_per_s").as_double(),
                             ceiling->at("kernel").as_string()};
  }
  if (const Json* counts = json.find("counts")) {
    result.counts.emplace();
    for (const CountField& field : kCountFields) {
      (*result.counts).*field.value = static_cast<std::uint64_t>(counts->at(field.name).as_integer());
    }
  }
  return result;
}

std::vector<BenchResult> read_bench_document(const Json& document, std::string_view name) {
  try {
    const std::int64_t schema = document.at("schema").as_integer();
    if (schema != kBenchSchema) {
      throw Error(ErrorCode::parse,
                  format_text("its schema is {}; this program reads {}", schema, kBenchSchema));
    }
    std::vector<BenchResult> results;
    for (const Json& item : document.at("cases").as_array()) results.push_back(bench_result(item));
    return results;
  } catch (const Error& error) {
    throw Error(error.code() == ErrorCode::invalid_argument ? ErrorCode::parse : error.code(),
                format_text("{}: expected what `gpuforge bench --save` writes: {}", name, error.message()));
  }
}

}  // namespace gpuforge::lab
