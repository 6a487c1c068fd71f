// clang as a function, the second front end: a translation unit and a virtual arch in, a Compiled out. It
// reads no header of the CUDA toolkit: what NVRTC has built in comes from a prelude of ours,
// gpuforge/kernels/clang. There is no ptxas in it, so only PTX comes out.
#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/jit/clang_program.h"
#include "gpuforge/jit/compiled.h"
#include "gpuforge/jit/translation_unit.h"

namespace gpuforge::jit {

// The folder of what stands for the toolkit's headers.
inline constexpr std::string_view kClangHeaders = "gpuforge/kernels/clang/headers/";

// What a unit for clang is resolved from: the source with our prelude before its first line, so that the key
// covers it.
KernelSource with_clang_prelude(KernelSource source);

// Thread-safe; compiles run at the same time, each in a child process.
class ClangCompiler {
 public:
  // Looks for nothing yet. `search_path`: PATH. In `cache_dir` which clang was found is remembered, so that a
  // hit of the disk cache starts no process, and sources are written to its kernels/ for the time of a
  // compile; without one, to the system's own folder for that.
  ClangCompiler(std::optional<std::string> search_path, std::optional<std::filesystem::path> cache_dir);

  // Nothing when there is none; looks once.
  const std::optional<ClangProgram>& program();
  // "clang 19.1.7". unavailable Error, with what to install, when there is none.
  std::string version();
  std::vector<int> supported_archs();
  bool knows(const Arch& arch);
  // Errors as Compiler's. Machine code: unsupported. An option of NVRTC that has no twin here:
  // invalid_argument.
  Compiled compile(const TranslationUnit& unit, const Arch& arch);

 private:
  const ClangProgram& need();
  std::optional<std::string> search_path_;
  std::optional<std::filesystem::path> cache_dir_;
  std::mutex mutex_;
  bool searched_ = false;
  std::optional<ClangProgram> program_;
};

}  // namespace gpuforge::jit
