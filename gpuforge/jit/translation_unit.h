// Second stage: the source with every header it reaches, found and hashed, so that the key covers all of
// them.
//
// Headers of ours are given to the compiler as texts. Headers on disk it reads itself, through search_dirs:
// NVRTC matches a text given in memory by the literal include string alone and prefers it everywhere, so two
// files that are both "detail.h" to their includers could not be told apart that way.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/base/hash.h"
#include "gpuforge/base/version.h"
#include "gpuforge/jit/arch.h"
#include "gpuforge/jit/source.h"

namespace gpuforge::jit {

// A header given to the compiler as text.
struct Header {
  std::string include_name;  // as written between quotes or angles, the name the compiler asks for
  std::string text;
  std::string found_in;  // for reports: "embedded", or its path below kernel_dir
};

// A header on disk, which the compiler opens itself.
struct HeaderFile {
  std::filesystem::path path;
  Hash128 content;
  bool toolkit = false;  // of CUDA or CCCL
};

struct TranslationUnit {
  KernelSource source;  // -I and the like in its options have moved to include_dirs
  // What the compiler must call the source: #include "x" looks in this name's folder, and in the current
  // folder when it has none. Messages show source.name instead.
  std::string program_name;
  std::vector<Header> headers;    // ours, for the compiler's memory; each once, in order of discovery
  std::vector<HeaderFile> files;  // on disk; each once, in order of discovery
  std::vector<std::filesystem::path> search_dirs;  // -I folders, in order
  std::vector<std::string>
      missing;  // names in our or the user's files that no folder had; #if decides if they matter
  std::vector<std::string> searched;  // folders looked in, for the message about a missing header
  bool uses_toolkit = false;          // some header came from the CUDA toolkit
  bool computed_include = false;  // #include of a macro: reached headers cannot be known, so no disk cache
  Hash128 reached;                // of every header's text and of which header answers each #include
};

// Never fails for what headers hold or lack: that is the compiler's to report.
TranslationUnit resolve(KernelSource source, const HeaderPaths& paths);

// False when a header changed since resolve: what was compiled meanwhile must not be stored under the key.
bool unchanged(const TranslationUnit& unit, const HeaderPaths& paths);

// Covers source, headers, options, arch, the compiler's version and ours; no path of this machine.
Hash128 cache_key(const TranslationUnit& unit, const Arch& arch, std::string_view compiler_version,
                  std::string_view product_version = version());

}  // namespace gpuforge::jit
