// Which version the NVRTC of this machine has, remembered in a file: the library is 100 MB and tells only
// "13.0" without compiling something. Not installed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "gpuforge/cuda/library.h"
#include "gpuforge/jit/compiler.h"

namespace gpuforge::jit {

// Nothing when the memo is absent, broken, or was made for other files.
std::optional<CompilerFacts> recall_compiler(const std::filesystem::path& memo_dir,
                                             const cuda::SearchOptions& search);
// Failures are ignored: the next process asks the library again.
void remember_compiler(const std::filesystem::path& memo_dir, const cuda::SearchOptions& search,
                       const std::filesystem::path& library, const CompilerFacts& facts) noexcept;

// "13.0.88" from the head comment of PTX that NVRTC made; empty when it is not there.
std::string version_in_ptx(std::string_view ptx);

}  // namespace gpuforge::jit
