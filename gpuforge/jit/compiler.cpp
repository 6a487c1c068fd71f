#include "gpuforge/jit/compiler.h"

#include <algorithm>
#include <chrono>

#include "gpuforge/base/error.h"
#include "gpuforge/jit/compile_log.h"
#include "gpuforge/jit/compiler_memo.h"

namespace gpuforge::jit {
namespace {

using cuda::NvrtcResult;

struct Output {
  NvrtcResult result = NvrtcResult::success;
  std::string log;
  std::string ptx;
  std::string cubin;
  std::vector<std::string> lowered;  // of each instantiation
};

bool is_option(std::string_view option, std::string_view name) {
  return option == name || (option.starts_with(name) && option[name.size()] == '=');
}

bool has_option(const KernelSource& source, std::initializer_list<std::string_view> names) {
  return std::any_of(source.options.begin(), source.options.end(), [&](const std::string& option) {
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return is_option(option, name); });
  });
}

void refuse_conflicts(const KernelSource& source) {
  struct Conflict {
    std::string_view option;
    std::string_view instead;
  };
  constexpr Conflict kConflicts[] = {
      {"--gpu-architecture", "the arch is chosen by the caller"},
      {"-arch", "the arch is chosen by the caller"},
      {"--dlink-time-opt", "only finished machine code or PTX can be loaded"},
      {"-dlto", "only finished machine code or PTX can be loaded"},
      {"--gen-opt-lto", "only finished machine code or PTX can be loaded"},
      {"--optix-ir", "only finished machine code or PTX can be loaded"},
      {"-optix-ir", "only finished machine code or PTX can be loaded"},
  };
  for (const std::string& option : source.options) {
    for (const Conflict& conflict : kConflicts) {
      GPUFORGE_CHECK(!is_option(option, conflict.option), "{}: option {} cannot be given: {}", source.name,
                     option, conflict.instead);
    }
  }
}

// From 12.9 on NVRTC keeps a cache of its own where a driver is installed. A hit there brings no ptxas
// remarks, so no resource report, and looking opens the driver, which takes longer than compiling a small
// kernel.
bool has_own_cache(const cuda::Nvrtc& nvrtc) {
  return nvrtc.major() * 100 + nvrtc.minor() >= 1209;
}

std::vector<std::string> make_options(const TranslationUnit& unit, const Arch& arch,
                                      const cuda::Nvrtc& nvrtc) {
  const KernelSource& source = unit.source;
  std::vector<std::string> options = {"--gpu-architecture=" + arch.name()};
  if (!has_option(source, {"--std", "-std"}))
    options.push_back(nvrtc.major() < 12 ? "--std=c++17" : "--std=c++20");
  if (!has_option(source, {"--generate-line-info", "-lineinfo", "--device-debug", "-G"})) {
    options.push_back("--generate-line-info");
  }
  if (!arch.is_virtual) options.push_back("--ptxas-options=-v");
  if (has_own_cache(nvrtc) && !has_option(source, {"--no-cache", "-no-cache"}))
    options.push_back("--no-cache");
  for (const std::string& define : source.defines) options.push_back("-D" + define);
  for (const std::filesystem::path& folder : unit.search_dirs) options.push_back("-I" + folder.string());
  options.insert(options.end(), source.options.begin(), source.options.end());
  return options;
}

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> result;
  for (const std::string& text : texts) result.push_back(text.c_str());
  return result;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty() || from == to) return;
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

Output run_nvrtc(const cuda::Nvrtc& nvrtc, const TranslationUnit& unit, const Arch& arch) {
  std::vector<const char*> headers;
  std::vector<const char*> include_names;
  for (const Header& header : unit.headers) {
    headers.push_back(header.text.c_str());
    include_names.push_back(header.include_name.c_str());
  }
  cuda::NvrtcProgram program(nvrtc, unit.source.text.c_str(), unit.program_name.c_str(),
                             static_cast<int>(headers.size()), headers.data(), include_names.data());
  for (const std::string& expression : unit.source.instantiations)
    program.add_name_expression(expression.c_str());

  const std::vector<std::string> options = make_options(unit, arch, nvrtc);
  const std::vector<const char*> raw_options = pointers(options);
  Output output;
  output.result =
      nvrtc.compile_program.raw(program.get(), static_cast<int>(raw_options.size()), raw_options.data());
  output.log = program.log();
  replace_all(output.log, unit.program_name, unit.source.name);
  // Some wrong options pass NVRTC's own check and fail in the front end, which says so in its own way.
  if (output.log.starts_with("Command-line error: ")) output.result = NvrtcResult::invalid_option;
  if (output.result != NvrtcResult::success) return output;
  output.ptx = program.ptx();
  if (!arch.is_virtual) output.cubin = program.cubin();
  for (const std::string& expression : unit.source.instantiations) {
    output.lowered.push_back(program.lowered_name(expression.c_str()));
  }
  return output;
}

// The source line behind a complaint of ptxas, from the PTX it complained about.
int locate_ptxas_error(const cuda::Nvrtc& nvrtc, const TranslationUnit& unit, Arch arch,
                       std::string_view log) {
  const int ptx_line = first_ptxas_error(log).ptx_line;
  if (ptx_line == 0 || arch.is_virtual) return 0;
  arch.is_virtual = true;
  const Output output = run_nvrtc(nvrtc, unit, arch);
  return source_line_of_ptx_line(output.ptx, ptx_line);
}

std::string joined(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

Error unknown_arch(const Arch& arch, const CompilerFacts& facts, std::string log) {
  return Error(
      ErrorCode::unsupported,
      format_text("jit: NVRTC {} cannot compile for {}; it knows {}: choose one of these, or install a newer "
                  "NVRTC (NVIDIA's package or the PyPI wheel nvidia-cuda-nvrtc)",
                  facts.version, arch.name(), joined(facts.archs)),
      std::move(log));
}

// Failures that are not about the kernel's text.
Error nvrtc_failure(const cuda::Nvrtc& nvrtc, const CompilerFacts& facts, const TranslationUnit& unit,
                    const Arch& arch, Output output) {
  const std::string& name = unit.source.name;
  const auto diagnostics = parse_diagnostics(output.log);
  const std::string said = diagnostics.empty() ? std::string("no reason given") : diagnostics.front().text;
  switch (output.result) {
    case NvrtcResult::invalid_option:
      if (said.find("gpu-architecture") != std::string::npos || said.find("nv_arch") != std::string::npos)
        return unknown_arch(arch, facts, std::move(output.log));
      return Error(ErrorCode::invalid_argument,
                   format_text("{}: NVRTC {} refuses an option: {}", name, facts.version, said),
                   std::move(output.log));
    case NvrtcResult::out_of_memory:
      return Error(ErrorCode::out_of_memory,
                   format_text("{}: NVRTC {} ran out of host memory", name, facts.version),
                   std::move(output.log));
    case NvrtcResult::builtin_operation_failure:
      return Error(
          ErrorCode::unavailable,
          format_text("{}: NVRTC {} cannot use its builtins library: libnvrtc-builtins of the same release "
                      "must lie beside {}",
                      name, facts.version, nvrtc.path().string()),
          std::move(output.log));
    default:
      return Error(
          ErrorCode::compile,
          format_text("{}: NVRTC {} failed inside ({}) while compiling for {}: try another version of NVRTC, "
                      "or a simpler kernel",
                      name, facts.version, nvrtc.get_error_string.raw(output.result), arch.name()),
          std::move(output.log));
  }
}

// The cheapest compile there is: NVRTC tells its full version only in what it generates.
std::string probe_version(const cuda::Nvrtc& nvrtc) {
  const std::string short_version = format_text("{}.{}", nvrtc.major(), nvrtc.minor());
  cuda::NvrtcProgram program(nvrtc, "", "version.cu", 0, nullptr, nullptr);
  const char* const options[] = {"--gpu-architecture=compute_80", "--no-cache"};
  const int count = has_own_cache(nvrtc) ? 2 : 1;
  if (nvrtc.compile_program.raw(program.get(), count, options) != NvrtcResult::success) return short_version;
  const std::string version = version_in_ptx(program.ptx());
  return version.empty() ? short_version : version;
}

std::vector<int> ask_archs(const cuda::Nvrtc& nvrtc) {
  int count = 0;
  nvrtc.get_num_supported_archs("count of archs", &count);
  std::vector<int> archs(static_cast<std::size_t>(std::max(count, 0)));
  if (!archs.empty()) nvrtc.get_supported_archs("archs", archs.data());
  std::sort(archs.begin(), archs.end());
  return archs;
}

}  // namespace

Compiler::Compiler(cuda::SearchOptions search, std::optional<std::filesystem::path> memo_dir)
    : search_(std::move(search)), memo_dir_(std::move(memo_dir)) {}

Compiler::~Compiler() = default;

const cuda::Nvrtc& Compiler::nvrtc() {
  const std::lock_guard guard(mutex_);
  return open_locked();
}

const cuda::Nvrtc& Compiler::open_locked() {
  if (!nvrtc_) nvrtc_ = cuda::Nvrtc::load(search_);
  return *nvrtc_;
}

CompilerFacts Compiler::facts(bool with_version) {
  const std::lock_guard guard(mutex_);
  if (!facts_ && memo_dir_ && !nvrtc_) facts_ = recall_compiler(*memo_dir_, search_);
  if (!facts_) facts_ = CompilerFacts{{}, ask_archs(open_locked())};
  if (with_version && facts_->version.empty()) {
    facts_->version = probe_version(open_locked());
    if (memo_dir_) remember_compiler(*memo_dir_, search_, nvrtc_->path(), *facts_);
  }
  return *facts_;
}

// What was compiled tells the version for nothing, and corrects a memo made in another environment of the
// loader.
void Compiler::learn_version(const std::string& version) {
  const std::lock_guard guard(mutex_);
  if (version.empty() || facts_->version == version) return;
  facts_ = CompilerFacts{version, ask_archs(*nvrtc_)};
  if (memo_dir_) remember_compiler(*memo_dir_, search_, nvrtc_->path(), *facts_);
}

std::string Compiler::version() {
  return facts(true).version;
}

std::vector<int> Compiler::supported_archs() {
  return facts(false).archs;
}

Compiled Compiler::compile(const TranslationUnit& unit, const Arch& arch) {
  refuse_conflicts(unit.source);
  const std::vector<int> archs = supported_archs();
  if (!std::binary_search(archs.begin(), archs.end(), arch.number()))
    throw unknown_arch(arch, facts(true), {});

  const auto started = std::chrono::steady_clock::now();
  const cuda::Nvrtc& library = nvrtc();
  Output output = run_nvrtc(library, unit, arch);
  if (output.result == NvrtcResult::compilation) {
    throw compile_failure(unit, arch, "NVRTC " + version(), output.log,
                          locate_ptxas_error(library, unit, arch, output.log));
  }
  if (output.result != NvrtcResult::success)
    throw nvrtc_failure(library, facts(true), unit, arch, std::move(output));

  Compiled compiled;
  compiled.arch = arch;
  compiled.source_name = unit.source.name;
  compiled.entries = entries_from_ptx(output.ptx, unit.source.name);
  for (std::size_t i = 0; i < output.lowered.size(); ++i) {
    for (Entry& entry : compiled.entries) {
      if (entry.name == output.lowered[i]) entry.expression = unit.source.instantiations[i];
    }
  }
  add_declared_types(compiled.entries, unit.source.text);
  add_resources(compiled.entries, output.log);
  compiled.log = without_resource_remarks(output.log);
  compiled.ptx = std::move(output.ptx);
  compiled.cubin = std::move(output.cubin);
  learn_version(version_in_ptx(compiled.ptx));
  compiled.compiler_version = version();
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - started;
  compiled.compile_ms = spent.count();
  return compiled;
}

}  // namespace gpuforge::jit
