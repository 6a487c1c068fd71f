#include "gpuforge/jit/clang_compiler.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "gpuforge/base/child_process.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/jit/clang_options.h"
#include "gpuforge/jit/compile_log.h"
#include "gpuforge/jit/compiler_memo.h"

namespace gpuforge::jit {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes kCompileLimit{5};
constexpr std::string_view kPrelude = "gpuforge/kernels/clang/prelude.cuh";

// Named as the disk cache names what it has begun to write, so that the same sweep finds what a killed
// process left behind.
class WorkFolder {
 public:
  explicit WorkFolder(const std::optional<fs::path>& parent) {
    std::error_code failed;
    fs::path base = parent ? *parent : fs::temp_directory_path(failed);
    if (parent) fs::create_directories(base, failed);
    if (!try_in(base) && !(parent && try_in(fs::temp_directory_path(failed)))) {
      throw Error(ErrorCode::unavailable, format_text("jit: no folder for a compile can be made in {}: {}",
                                                      base.string(), std::strerror(errno)));
    }
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  bool try_in(const fs::path& base) {
    std::string pattern = (base / format_text(".tmp-{}-XXXXXX", ::getpid())).string();
    if (::mkdtemp(pattern.data()) == nullptr) return false;
    path_ = pattern;
    return true;
  }
  fs::path path_;
};

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

// The source under its own name, and a table of the instantiations: naming them makes clang compile them, and
// the table's text in the PTX tells what each is called there.
std::string text_for_clang(const TranslationUnit& unit) {
  std::string text = format_text("#line 1 \"{}\"\n{}\n", escaped(unit.program_name), unit.source.text);
  if (unit.source.instantiations.empty()) return text;
  text +=
      format_text("extern \"C\" __attribute__((device, used)) const void* const {}[] = {{\n#line 1 \"{}\"\n",
                  kClangInstantiations, kClangInstantiations);
  for (const std::string& expression : unit.source.instantiations)
    text += format_text("(const void*)(&{}),\n", expression);
  return text + "};\n";
}

void write_unit(const TranslationUnit& unit, const fs::path& folder, const fs::path& source) {
  for (const Header& header : unit.headers) {
    const fs::path path = folder / "headers" / header.include_name;
    fs::create_directories(path.parent_path());
    write_file(path, header.text);
  }
  write_file(source, text_for_clang(unit));
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// In the names the caller knows, and without clang's own count of its errors.
std::string readable_log(const ChildResult& child, const TranslationUnit& unit, const fs::path& folder) {
  std::string log = child.err;
  replace_all(log, (folder / "headers").string() + "/", "");
  replace_all(log, unit.program_name, unit.source.name);
  std::string kept;
  for (const std::string_view line : lines_of(log)) {
    const bool count = line.find(" generated when compiling for ") != std::string_view::npos ||
                       line.ends_with(" generated.");
    if (count) continue;
    const bool head = line.find(": error: ") != std::string_view::npos ||
                      line.find(": fatal error: ") != std::string_view::npos ||
                      line.find(": warning: ") != std::string_view::npos ||
                      line.find(": note: ") != std::string_view::npos || line.starts_with("In file included");
    if (!head) kept += "  ";  // what shows a place stands indented, as NVRTC has it
    kept.append(line).push_back('\n');
  }
  while (kept.ends_with('\n')) kept.pop_back();
  return kept;
}

// Takes the table of instantiations out of the PTX: the names in it, in order.
std::vector<std::string> take_names(std::string& ptx) {
  std::vector<std::string> names;
  const std::size_t at = ptx.find(format_text(" {}[", kClangInstantiations));
  if (at == std::string::npos) return names;
  const std::size_t line = ptx.rfind('\n', at) + 1;
  const std::size_t open = ptx.find('{', at);
  const std::size_t close = ptx.find("};", at);
  if (open == std::string::npos || close == std::string::npos) return names;
  std::string_view list = std::string_view(ptx).substr(open + 1, close - open - 1);
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string name(list.substr(0, comma));
    std::erase_if(name, [](char c) { return c == ' ' || c == '\n'; });
    names.push_back(std::move(name));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  const std::size_t end = ptx.find('\n', close);
  ptx.erase(line, (end == std::string::npos ? ptx.size() : end + 1) - line);
  return names;
}

// A place without a line (".loc 1 0 5") says nothing: the instructions stay with the line before.
std::string without_line_zero(std::string_view ptx) {
  std::string kept;
  kept.reserve(ptx.size());
  for (const std::string_view line : lines_of(ptx)) {
    constexpr std::string_view kLoc = "\t.loc\t";
    const std::size_t blank = line.starts_with(kLoc) ? line.find(' ', kLoc.size()) : std::string_view::npos;
    if (blank == std::string_view::npos || !line.substr(blank).starts_with(" 0 "))
      kept.append(line).push_back('\n');
  }
  return kept;
}

Error clang_failure(const ChildResult& child, const TranslationUnit& unit, const Arch& arch,
                    const std::string& version, const std::string& log) {
  const std::string& name = unit.source.name;
  if (child.end == ChildResult::End::not_started)
    return Error(ErrorCode::unavailable,
                 format_text("{}: {} {}", name, version, describe(child, kCompileLimit)));
  if (child.end != ChildResult::End::exited || child.code > 1) {
    return Error(
        ErrorCode::compile,
        format_text("{}: {} failed inside while compiling for {} ({}): try NVRTC, another clang, or a "
                    "simpler kernel",
                    name, version, arch.name(), describe(child, kCompileLimit)),
        log);
  }
  return compile_failure(unit, arch, version, log, 0);
}

}  // namespace

KernelSource with_clang_prelude(KernelSource source) {
  source.options.insert(source.options.begin(), format_text("--pre-include={}", kPrelude));
  return source;
}

ClangCompiler::ClangCompiler(std::optional<std::string> search_path, std::optional<fs::path> cache_dir)
    : search_path_(std::move(search_path)), cache_dir_(std::move(cache_dir)) {}

const std::optional<ClangProgram>& ClangCompiler::program() {
  const std::lock_guard guard(mutex_);
  if (!searched_ && search_path_) {
    if (cache_dir_) program_ = recall_clang(*cache_dir_, *search_path_);
    if (!program_) {
      program_ = find_clang(*search_path_);
      if (program_ && cache_dir_) remember_clang(*cache_dir_, *search_path_, *program_);
    }
  }
  searched_ = true;
  return program_;
}

const ClangProgram& ClangCompiler::need() {
  if (!program()) {
    throw Error(
        ErrorCode::unavailable,
        format_text("clang not available: no clang++ of version {} or newer with NVPTX is on PATH; install "
                    "one, for example Debian's package clang-19, or use NVRTC",
                    kOldestClang));
  }
  return *program();
}

std::string ClangCompiler::version() {
  return "clang " + need().version;
}

std::vector<int> ClangCompiler::supported_archs() {
  return need().arch_numbers();
}

bool ClangCompiler::knows(const Arch& arch) {
  return need().knows(arch);
}

Compiled ClangCompiler::compile(const TranslationUnit& unit, const Arch& arch) {
  const ClangProgram& clang = need();
  const std::string name = version();
  if (!arch.is_virtual) {
    Arch ptx = arch;
    ptx.is_virtual = true;
    throw Error(
        ErrorCode::unsupported,
        format_text("{}: {} makes PTX alone, and {} is machine code: compile for {}, or install NVRTC",
                    unit.source.name, name, arch.name(), ptx.name()));
  }
  if (!clang.knows(arch)) {
    std::string known;
    for (const int number : clang.arch_numbers()) known += format_text(" {}", number);
    throw Error(
        ErrorCode::unsupported,
        format_text(
            "jit: {} cannot compile for {}; it knows{}: choose one of these, or install a newer clang", name,
            arch.name(), known));
  }
  const auto started = std::chrono::steady_clock::now();
  const WorkFolder folder(cache_dir_ ? std::optional(*cache_dir_ / "kernels") : std::nullopt);
  const fs::path source = folder.path() / "source" / "kernel.cu";
  fs::create_directories(source.parent_path());
  write_unit(unit, folder.path(), source);
  const ChildResult child =
      run_child(clang.path, clang_options(unit, arch, clang, folder.path(), source), kCompileLimit);
  const std::string log = readable_log(child, unit, folder.path());
  if (!child.good()) throw clang_failure(child, unit, arch, name, log);

  Compiled compiled;
  compiled.arch = arch;
  compiled.source_name = unit.source.name;
  compiled.ptx = without_line_zero(child.out);
  const std::vector<std::string> names = take_names(compiled.ptx);
  compiled.entries = entries_from_ptx(compiled.ptx, unit.source.name);
  for (std::size_t i = 0; i < std::min(names.size(), unit.source.instantiations.size()); ++i) {
    for (Entry& entry : compiled.entries)
      if (entry.name == names[i]) entry.expression = unit.source.instantiations[i];
  }
  add_declared_types(compiled.entries, unit.source.text);
  compiled.log = log;
  compiled.compiler_version = name;
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - started;
  compiled.compile_ms = spent.count();
  return compiled;
}

}  // namespace gpuforge::jit
