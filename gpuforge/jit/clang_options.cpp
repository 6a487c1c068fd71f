#include "gpuforge/jit/clang_options.h"

#include <algorithm>
#include <optional>

#include "gpuforge/base/error.h"

namespace gpuforge::jit {
namespace {

using Options = std::vector<std::string>;

// The newest PTX each release writes, up to what our kernels' inline PTX needs.
int ptx_version(const ClangProgram& clang, const Arch& arch) {
  if (clang.major <= 16) return 78;
  if (clang.major == 17) return 81;
  return arch.number() >= 100 ? 87 : 83;
}

// The value of "--name=value" or of "--name value"; moves past it.
std::optional<std::string> value_of(const Options& options, std::size_t& at,
                                    std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const std::string& option = options[at];
    if (option.starts_with(name) && option.size() > name.size() && option[name.size()] == '=')
      return option.substr(name.size() + 1);
    if (option == name && at + 1 < options.size()) return options[++at];
  }
  return std::nullopt;
}

bool is_one_of(std::string_view option, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), option) != names.end();
}

bool is_true(std::string_view value) {
  return value == "true" || value == "1";
}

// NVRTC's options, one by one. Those that only ask for what is done anyway, or steer ptxas, fall away.
Options translated(const KernelSource& source) {
  Options result;
  const Options& options = source.options;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string& option = options[i];
    if (const auto header = value_of(options, i, {"--pre-include", "-include"})) {
      result.insert(result.end(), {"-include", *header});
    } else if (const auto standard = value_of(options, i, {"--std", "-std"})) {
      result.push_back("-std=" + *standard);
    } else if (const auto define = value_of(options, i, {"--define-macro"})) {
      result.push_back("-D" + *define);
    } else if (const auto undefine = value_of(options, i, {"--undefine-macro"})) {
      result.push_back("-U" + *undefine);
    } else if (const auto contract = value_of(options, i, {"--fmad", "-fmad"})) {
      result.push_back(is_true(*contract) ? "-ffp-contract=fast" : "-ffp-contract=off");
    } else if (const auto flush = value_of(options, i, {"--ftz", "-ftz"})) {
      if (is_true(*flush)) result.push_back("-fgpu-flush-denormals-to-zero");
    } else if (is_one_of(option, {"-w", "--disable-warnings"})) {
      result.push_back("-w");
    } else if ((option.starts_with("-D") || option.starts_with("-U")) && option.size() > 2) {
      result.push_back(option);
    } else if (is_one_of(option, {"--generate-line-info", "-lineinfo", "--no-cache", "-no-cache",
                                  "--extra-device-vectorization", "-extra-device-vectorization", "--restrict",
                                  "-restrict"}) ||
               value_of(options, i,
                        {"--ptxas-options", "-Xptxas", "--maxrregcount", "-maxrregcount", "--prec-div",
                         "-prec-div", "--prec-sqrt", "-prec-sqrt"})) {
      continue;
    } else {
      throw Error(
          ErrorCode::invalid_argument,
          format_text("{}: option {} is NVRTC's, and the clang front end has nothing like it: leave it out, "
                      "or compile with NVRTC",
                      source.name, option));
    }
  }
  return result;
}

}  // namespace

Options clang_options(const TranslationUnit& unit, const Arch& arch, const ClangProgram& clang,
                      const std::filesystem::path& folder, const std::filesystem::path& source) {
  Arch real = arch;
  real.is_virtual = false;
  const std::string headers = (folder / "headers").string();
  Options options = {
      "--no-default-config",
      "-x",
      "cuda",
      "--cuda-device-only",
      "--cuda-gpu-arch=" + real.name(),
      format_text("--cuda-feature=+ptx{}", ptx_version(clang, arch)),
      // No toolkit, no host headers, wherever they may lie.
      "--cuda-path=" + headers,
      "-nocudainc",
      "-nocudalib",
      "-nostdinc",
      "-nostdinc++",
      "-std=c++20",
      "-O3",
      "-mllvm",
      "-inline-threshold=10000",  // as NVRTC has it: a call would put pieces of rows into memory
      "-fdeclspec",               // threadIdx.x and its relatives are properties
      "-S",
      "-o",
      "-",
      // Lines of the source and nothing else about it; no path of this machine.
      "-gline-directives-only",
      "-fdebug-compilation-dir=.",
      format_text("-ffile-prefix-map={}/=", headers),
      // Messages as NVRTC words them: file(line): error: text, the line, a caret.
      "-fdiagnostics-format=msvc",
      "-fno-show-column",
      "-fno-color-diagnostics",
      "-ftabstop=1",
      "-fno-diagnostics-show-option",
      "-Wno-unknown-cuda-version",
      "-Wno-unknown-pragmas",
      "-Wno-pass-failed",
  };
  if (clang.major >= 17) options.push_back("-fno-diagnostics-show-line-numbers");
  for (const std::string& define : unit.source.defines) options.push_back("-D" + define);
  if (!unit.source.directory.empty())
    options.insert(options.end(),
                   {"-iquote", std::filesystem::path(unit.program_name).parent_path().string()});
  for (const std::filesystem::path& dir : unit.search_dirs) options.push_back("-I" + dir.string());
  options.insert(options.end(), {"-isystem", headers});
  const Options own = translated(unit.source);
  options.insert(options.end(), own.begin(), own.end());
  options.push_back(source.string());
  return options;
}

}  // namespace gpuforge::jit
