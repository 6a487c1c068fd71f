#include "cli/kernel_file.h"

#include <algorithm>
#include <array>

#include "gpuforge/base/error.h"

namespace gpuforge::cli {
namespace {

struct Pointee {
  std::string_view type;
  DType dtype;
};
constexpr std::array kPointees = {
    Pointee{"float", DType::f32},
    Pointee{"double", DType::f64},
    Pointee{"half", DType::f16},
    Pointee{"__half", DType::f16},
    Pointee{"half_t", DType::f16},
    Pointee{"__nv_bfloat16", DType::bf16},
    Pointee{"nv_bfloat16", DType::bf16},
    Pointee{"bfloat16_t", DType::bf16},
    Pointee{"__nv_fp8_e4m3", DType::f8e4m3},
    Pointee{"__nv_fp8_e5m2", DType::f8e5m2},
    Pointee{"float8_e4m3_t", DType::f8e4m3},
    Pointee{"float8_e5m2_t", DType::f8e5m2},
    Pointee{"bool", DType::boolean},
    Pointee{"signed char", DType::i8},
    Pointee{"int8_t", DType::i8},
    Pointee{"short", DType::i16},
    Pointee{"unsigned short", DType::i16},
    Pointee{"int16_t", DType::i16},
    Pointee{"uint16_t", DType::i16},
    Pointee{"int", DType::i32},
    Pointee{"unsigned", DType::i32},
    Pointee{"unsigned int", DType::i32},
    Pointee{"int32_t", DType::i32},
    Pointee{"uint32_t", DType::i32},
    Pointee{"long long", DType::i64},
    Pointee{"unsigned long long", DType::i64},
    Pointee{"long", DType::i64},
    Pointee{"unsigned long", DType::i64},
    Pointee{"int64_t", DType::i64},
    Pointee{"uint64_t", DType::i64},
    Pointee{"size_t", DType::i64},
};  // bytes (char, uint8_t, void) may hold anything

}  // namespace

bool is_ptx(const std::filesystem::path& path) {
  return path.extension() == ".ptx";
}

jit::KernelSource source_of(const Invocation& invocation, const std::filesystem::path& path) {
  jit::KernelSource source = jit::source_from_file(path);
  source.instantiations = invocation.values("instantiate");
  source.defines = invocation.values("define");
  for (const std::string& folder : invocation.values("include-dir")) source.include_dirs.emplace_back(folder);
  source.options = invocation.values("option");
  return source;
}

std::string signature(const jit::Entry& entry) {
  std::string out = entry.expression.empty() ? entry.name : entry.expression;
  out += "(";
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    const jit::Parameter& parameter = entry.parameters[i];
    if (i > 0) out += ", ";
    out += parameter.declared_type.empty() ? parameter.ptx_type : parameter.declared_type;
    if (!parameter.name.empty()) out += " " + parameter.name;
  }
  return out + ")";
}

Json parameters_json(const jit::Entry& entry) {
  Json list = Json::array();
  for (const jit::Parameter& parameter : entry.parameters) {
    Json json = Json::object();
    json.set("name", parameter.name);
    json.set("declared_type", parameter.declared_type);
    json.set("ptx_type", parameter.ptx_type);
    json.set("bytes", std::uint64_t{parameter.bytes});
    list.push_back(std::move(json));
  }
  return list;
}

const jit::Entry& choose_entry(const jit::Compiled& compiled, std::string_view name) {
  if (!name.empty()) return compiled.entry(name);
  std::string list;
  for (const jit::Entry& entry : compiled.entries) {
    list += (list.empty() ? "" : ", ") + (entry.expression.empty() ? entry.name : entry.expression);
  }
  GPUFORGE_CHECK(!compiled.entries.empty(), "{}: there is no kernel in it (a template needs --instantiate)",
                 compiled.source_name);
  GPUFORGE_CHECK(compiled.entries.size() == 1, "{}: --kernel is needed, since there are {} kernels: {}",
                 compiled.source_name, compiled.entries.size(), list);
  return compiled.entries.front();
}

std::optional<std::string> pointee_mismatch(const jit::Parameter& parameter, DType dtype) {
  std::string_view type = parameter.declared_type;
  if (!type.ends_with('*')) return std::nullopt;
  type.remove_suffix(1);
  for (std::string_view part : {std::string_view("const "), std::string_view("volatile ")}) {
    if (type.starts_with(part)) type.remove_prefix(part.size());
  }
  while (type.ends_with(' ')) type.remove_suffix(1);
  if (type.ends_with(" const")) type.remove_suffix(6);
  for (std::string_view space :
       {std::string_view("std::"), std::string_view("cuda::std::"), std::string_view("gpuforge::")}) {
    if (type.starts_with(space)) type.remove_prefix(space.size());
  }
  const auto known =
      std::find_if(kPointees.begin(), kPointees.end(), [&](const Pointee& p) { return p.type == type; });
  if (known == kPointees.end() || known->dtype == dtype) return std::nullopt;
  // Signedness is a matter of taste: u8 for char, i32 for unsigned.
  const bool integers = !is_floating(dtype) && !is_floating(known->dtype);
  if (integers && element_bytes(dtype) == element_bytes(known->dtype)) return std::nullopt;
  return format_text("parameter{} is declared {}, but its array holds {}",
                     parameter.name.empty() ? std::string() : " '" + parameter.name + "'",
                     parameter.declared_type, name(dtype));
}

}  // namespace gpuforge::cli
