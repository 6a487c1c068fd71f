// Which version the compilers of this machine have, remembered in files: NVRTC's library is 100 MB and tells
// only "13.0" without compiling something, and clang is a process to start. Not installed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "gpuforge/cuda/library.h"
#include "gpuforge/jit/clang_program.h"
#include "gpuforge/jit/compiler.h"

namespace gpuforge::jit {

// Nothing when the memo is absent, broken, or was made for other files.
std::optional<CompilerFacts> recall_compiler(const std::filesystem::path& memo_dir,
                                             const cuda::SearchOptions& search);
// Failures are ignored: the next process asks the library again.
void remember_compiler(const std::filesystem::path& memo_dir, const cuda::SearchOptions& search,
                       const std::filesystem::path& library, const CompilerFacts& facts) noexcept;

// The same for the clang that find_clang finds on this search path.
std::optional<ClangProgram> recall_clang(const std::filesystem::path& memo_dir, std::string_view search_path);
void remember_clang(const std::filesystem::path& memo_dir, std::string_view search_path,
                    const ClangProgram& clang) noexcept;

// "13.0.88" from the head comment of PTX that NVRTC made; empty when it is not there.
std::string version_in_ptx(std::string_view ptx);

}  // namespace gpuforge::jit
