// NVRTC as a function: a translation unit and an arch in, a Compiled out. Sees no data, never launches.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gpuforge/cuda/library.h"
#include "gpuforge/cuda/nvrtc.h"
#include "gpuforge/jit/compiled.h"
#include "gpuforge/jit/translation_unit.h"

namespace gpuforge::jit {

// What a copy of NVRTC is.
struct CompilerFacts {
  std::string version;     // "13.0.88"
  std::vector<int> archs;  // 75, 80, ... 121
};

// Thread-safe; compiles run at the same time.
class Compiler {
 public:
  // Opens nothing yet. `memo_dir`, when given, remembers which version the library file has, so that a
  // disk-cache hit needs no dlopen of 100 MB.
  Compiler(cuda::SearchOptions search, std::optional<std::filesystem::path> memo_dir);
  ~Compiler();

  // "13.0.88". unavailable Error with "NVRTC JIT compiler not available" when there is none.
  std::string version();
  // A compile Error has the first message first, with file, line, the offending line and a caret; all of the
  // log is its detail. An arch this NVRTC does not know: unsupported, with the ones it does. A missing
  // header: its name, the folders searched, and who ships it.
  Compiled compile(const TranslationUnit& unit, const Arch& arch);
  // The archs this NVRTC can target, e.g. 75..121 as numbers.
  std::vector<int> supported_archs();

 private:
  const cuda::Nvrtc& nvrtc();
  const cuda::Nvrtc& open_locked();
  CompilerFacts facts(bool with_version);
  void learn_version(const std::string& version);
  cuda::SearchOptions search_;
  std::optional<std::filesystem::path> memo_dir_;
  std::mutex mutex_;
  std::unique_ptr<cuda::Nvrtc> nvrtc_;
  std::optional<CompilerFacts> facts_;  // its version is empty until someone needs it
};

}  // namespace gpuforge::jit
