// gpuforge compile: what a kernel becomes on each architecture, with no GPU.
#include <filesystem>
#include <set>

#include "cli/compile_outputs.h"
#include "cli/kernel_file.h"
#include "cli/report.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/device/open_device.h"

namespace gpuforge::cli {
namespace {

struct Result {
  std::shared_ptr<const jit::Compiled> compiled;
  std::vector<jit::Entry> entries;  // those asked for
  std::vector<std::string> warnings;
  std::vector<std::filesystem::path> written;
};

std::vector<jit::Arch> archs_of(Session& session, const Invocation& invocation) {
  std::vector<jit::Arch> archs;
  for (const std::string& text : invocation.values("arch")) {
    if (text == "all") {
      const auto listed = jit::listed_archs();
      archs.insert(archs.end(), listed.begin(), listed.end());
    } else {
      archs.push_back(jit::Arch::parse(text));
    }
  }
  if (!archs.empty()) return archs;
  const Progress progress(session.messages, "asking the CUDA driver");
  for (const auto& listing : device::list_devices(cuda::search_options(session.environment))) {
    if (listing.usable && listing.facts.kind == device::DeviceKind::cuda)
      return {jit::native_arch(listing.facts)};
  }
  session.messages.note("compile: no --arch and no GPU to take it from, so this is for sm_80");
  return {jit::Arch::parse("sm_80")};
}

Result compile_file(Session& session, const Invocation& invocation, jit::Jit& jit,
                    const std::filesystem::path& path, const jit::Arch& arch) {
  Result result;
  const jit::KernelSource source = source_of(invocation, path);
  {
    const Progress progress(session.messages,
                            format_text("compiling {} for {}", path.filename().string(), arch.name()));
    result.compiled = jit.compile(source, arch);
  }
  if (const auto kernel = invocation.value("kernel")) {
    result.entries = {result.compiled->entry(*kernel)};
  } else {
    result.entries = result.compiled->entries;
  }
  result.warnings = jit::performance_warnings(*result.compiled);
  return result;
}

Result read_ptx(const Invocation& invocation, const std::filesystem::path& path) {
  GPUFORGE_CHECK(invocation.values("arch").empty() && !invocation.has("out"),
                 "compile: '{}' is PTX already, so --arch and --out have no use: its kernels are only listed",
                 path.string());
  Result result;
  auto compiled = std::make_shared<jit::Compiled>();
  compiled->source_name = path.string();
  compiled->ptx = read_file(path);
  compiled->entries = jit::entries_from_ptx(compiled->ptx, path.string());
  result.compiled = compiled;
  const auto kernel = invocation.value("kernel");
  result.entries = kernel ? std::vector{compiled->entry(*kernel)} : compiled->entries;
  return result;
}

std::optional<jit::Occupancy> occupancy_of(const jit::Compiled& compiled, const jit::Entry& entry,
                                           int block) {
  if (compiled.cubin.empty()) return std::nullopt;
  return jit::occupancy(compiled.arch, entry.registers, entry.static_shared_bytes, block);
}

Json entry_json(const jit::Compiled& compiled, const jit::Entry& entry, int block) {
  Json json = Json::object();
  json.set("name", entry.name);
  json.set("expression", entry.expression);
  const bool machine_code = !compiled.cubin.empty();
  json.set("registers", machine_code ? Json(entry.registers) : Json());
  json.set("spill_store_bytes", machine_code ? Json(std::uint64_t{entry.spill_store_bytes}) : Json());
  json.set("spill_load_bytes", machine_code ? Json(std::uint64_t{entry.spill_load_bytes}) : Json());
  json.set("stack_bytes", machine_code ? Json(std::uint64_t{entry.stack_bytes}) : Json());
  json.set("static_shared_bytes", machine_code ? Json(std::uint64_t{entry.static_shared_bytes}) : Json());
  if (const auto occupancy = occupancy_of(compiled, entry, block)) {
    Json body = Json::object();
    body.set("block", block);
    body.set("blocks", occupancy->blocks);
    body.set("warps", occupancy->warps);
    body.set("fraction", occupancy->fraction);
    body.set("limited_by", occupancy->limited_by);
    json.set("occupancy", std::move(body));
  } else {
    json.set("occupancy", Json());
  }
  json.set("parameters", parameters_json(entry));
  return json;
}

Json result_json(const Result& result, int block) {
  const jit::Compiled& compiled = *result.compiled;
  const bool from_ptx = compiled.compiler_version.empty();
  Json json = Json::object();
  json.set("file", compiled.source_name);
  json.set("arch", from_ptx ? Json() : Json(compiled.arch.name()));
  json.set("key", compiled.key);
  json.set("compiler", compiled.compiler_version);
  json.set("compile_ms", from_ptx ? Json() : Json(compiled.compile_ms));
  json.set("cached", compiled.from_cache);
  Json entries = Json::array();
  for (const jit::Entry& entry : result.entries) entries.push_back(entry_json(compiled, entry, block));
  json.set("entries", std::move(entries));
  Json warnings = Json::array();
  for (const std::string& warning : result.warnings) warnings.push_back(warning);
  json.set("warnings", std::move(warnings));
  Json written = Json::array();
  for (const auto& path : result.written) written.push_back(path.string());
  json.set("written", std::move(written));
  return json;
}

std::string shown_name(const jit::Entry& entry) {
  return entry.expression.empty() ? entry.name : entry.expression;
}

void add_rows(Table& table, const Result& result, int block) {
  const jit::Compiled& compiled = *result.compiled;
  const std::string time = compiled.compiler_version.empty() ? std::string("-")
                           : compiled.from_cache             ? std::string("cached")
                                                             : show_ms(compiled.compile_ms);
  const std::string arch = compiled.compiler_version.empty() ? std::string("ptx") : compiled.arch.name();
  for (const jit::Entry& entry : result.entries) {
    if (compiled.cubin.empty()) {
      table.add_row({shown_name(entry), arch, "-", "-", "-", "-", "-", time});
      continue;
    }
    std::string fits = "unknown";
    if (const auto occupancy = occupancy_of(compiled, entry, block)) {
      fits = occupancy->blocks == 0
                 ? format_text("does not fit ({})", occupancy->limited_by)
                 : format_text("{:.0f}% ({})", occupancy->fraction * 100, occupancy->limited_by);
    }
    const std::size_t spills = entry.spill_store_bytes + entry.spill_load_bytes;
    table.add_row({shown_name(entry), arch, format_text("{}", entry.registers), show_bytes(spills),
                   show_bytes(entry.stack_bytes), show_bytes(entry.static_shared_bytes), fits, time});
  }
}

// Each kernel's parameters once, though it may be compiled for several architectures.
void print_signatures(Session& session, const std::vector<Result>& results) {
  std::set<std::string> printed;
  for (const Result& result : results) {
    for (const jit::Entry& entry : result.entries) {
      const std::string text = signature(entry);
      if (printed.insert(text).second) session.out.line(wrap(text, session.terminal.columns, 2, 2));
    }
  }
}

void print_results(Session& session, const std::vector<Result>& results, int block) {
  if (results.empty()) return;
  Table table({"kernel", "arch", ">registers", ">spills", ">stack", ">shared",
               format_text("occupancy at {}", block), ">time"});
  for (const Result& result : results) add_rows(table, result, block);
  if (table.empty()) {
    session.out.line("no kernels (a template needs --instantiate)");
  } else {
    session.out.write(table.text());
    session.out.line("");
    print_signatures(session, results);
  }
  for (const Result& result : results) {
    for (const auto& path : result.written) session.out.line(format_text("wrote {}", path.string()));
  }
}

int run(Session& session, const Invocation& invocation) {
  const auto block =
      static_cast<int>(require_count("compile: --block", invocation.value("block").value_or("256"), 1, 1024));
  const std::vector<std::string>& files = invocation.positionals;
  bool needs_arch = false;
  for (const std::string& file : files) needs_arch = needs_arch || !is_ptx(file);
  const std::vector<jit::Arch> archs = needs_arch ? archs_of(session, invocation) : std::vector<jit::Arch>{};
  const CompileOutputs outputs(invocation, files.size() * archs.size());
  jit::Jit jit(jit_options(session), session.log);
  std::vector<Result> results;
  try {
    for (const std::string& file : files) {
      if (is_ptx(file)) {
        results.push_back(read_ptx(invocation, file));
        continue;
      }
      for (const jit::Arch& arch : archs) {
        Result result = compile_file(session, invocation, jit, file, arch);
        result.written = outputs.write(session, *result.compiled, file);
        results.push_back(std::move(result));
      }
    }
  } catch (const Error&) {
    if (!session.json) print_results(session, results, block);  // what is known before the error
    throw;
  }
  for (const Result& result : results) {
    for (const std::string& warning : result.warnings) session.messages.write(LogLevel::warning, warning);
  }
  if (!session.json) {
    print_results(session, results, block);
    return kDone;
  }
  Json list = Json::array();
  for (const Result& result : results) list.push_back(result_json(result, block));
  Json json = document("compile");
  json.set("results", std::move(list));
  session.out.document(json);
  return kDone;
}

constexpr std::string_view kArchs[] = {"all", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"};
constexpr Positional kPositionals[] = {{.name = "FILE",
                                        .help = "a .cu file, or a .ptx file whose kernels are listed",
                                        .required = true,
                                        .repeatable = true,
                                        .kind = ValueKind::file}};
constexpr Option kOptions[] = {
    {.name = "arch",
     .value = "ARCH",
     .help =
         "sm_90a for machine code, compute_80 for PTX, all for every one listed; without it the GPU's own",
     .repeatable = true,
     .values = kArchs},
    {.name = "kernel", .value = "NAME", .help = "report this kernel only"},
    kInstantiateOption,
    kDefineOption,
    kIncludeOption,
    kNvrtcOption,
    {.name = "block", .value = "N", .help = "threads per block for the occupancy (256)"},
    {.name = "out",
     .short_name = 'o',
     .value = "PATH",
     .help = "write the result: a file, or a folder",
     .kind = ValueKind::file},
    {.name = "ptx", .help = "write PTX"},
    {.name = "cubin", .help = "write machine code"},
};
constexpr Example kExamples[] = {
    {.line = "gpuforge compile saxpy.cu --arch sm_90a",
     .meaning = "registers, spills, shared memory, occupancy"},
    {.line = "gpuforge compile tile.cu --instantiate 'tile<float, 32>' --arch all --json",
     .meaning = "a template on every architecture, for scripts"},
    {.line = "gpuforge compile saxpy.cu --arch sm_80 -o saxpy.cubin", .meaning = "keep the machine code"},
};

}  // namespace

const Command kCompileCommand = {
    .name = "compile",
    .summary = "compile a .cu file and report its resources, with no GPU",
    .usage = "FILE... [--arch ARCH]... [-o PATH] [options]",
    .positionals = kPositionals,
    .options = kOptions,
    .examples = kExamples,
    .run = run,
};

}  // namespace gpuforge::cli
