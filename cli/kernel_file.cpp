#include "cli/kernel_file.h"

#include "gpuforge/base/error.h"
#include "gpuforge/jit/pointee.h"

namespace gpuforge::cli {

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
  const auto known = jit::pointee_dtype(parameter);
  if (!known || *known == dtype) return std::nullopt;
  // Signedness is a matter of taste: u8 for char, i32 for unsigned.
  const bool integers = !is_floating(dtype) && !is_floating(*known);
  if (integers && element_bytes(dtype) == element_bytes(*known)) return std::nullopt;
  return format_text("parameter{} is declared {}, but its array holds {}",
                     parameter.name.empty() ? std::string() : " '" + parameter.name + "'",
                     parameter.declared_type, name(dtype));
}

}  // namespace gpuforge::cli
