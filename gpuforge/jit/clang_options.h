// The command line of clang for a translation unit, and NVRTC's options in clang's words. Not installed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gpuforge/jit/clang_program.h"
#include "gpuforge/jit/translation_unit.h"

namespace gpuforge::jit {

// `folder` holds the texts of our headers in headers/; the PTX goes to stdout, messages to stderr in the form
// of NVRTC's. invalid_argument for an option of the source that has no twin.
std::vector<std::string> clang_options(const TranslationUnit& unit, const Arch& arch,
                                       const ClangProgram& clang, const std::filesystem::path& folder,
                                       const std::filesystem::path& source);

}  // namespace gpuforge::jit
