// First stage of the JIT: what is to be compiled. A value; making one opens nothing and sees no data.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/base/embedded.h"
#include "gpuforge/base/hash.h"

namespace gpuforge::jit {

struct KernelSource {
  std::string name;  // as messages show it: "saxpy.cu", "gpuforge/array/copy.cu"
  std::string text;
  std::filesystem::path directory;  // where #include "x" looks first; empty for embedded sources
  // Name expressions to instantiate and look up: "tile_copy<float, 32>". Plain extern "C" or non-template
  // names need not be listed.
  std::vector<std::string> instantiations;
  std::vector<std::string> defines;  // "TILE=32" or "FAST"
  std::vector<std::filesystem::path> include_dirs;
  std::vector<std::string> options;  // further NVRTC options, passed through
};

// Reads a .cu file. io Error when it cannot be read; invalid_argument when it is not text.
KernelSource source_from_file(const std::filesystem::path& path);

// Identifies the source for the memory cache: everything above, without opening headers.
Hash128 fingerprint(const KernelSource& source);

// Where headers of ours and of the toolkit come from.
struct HeaderPaths {
  std::span<const EmbeddedFile> embedded;           // compiled in
  std::optional<std::filesystem::path> kernel_dir;  // --kernel-dir: read ours from this tree instead
  std::vector<std::filesystem::path> toolkit;       // CUDA and CCCL include folders, newest first
  // A folder of ours whose "x.cuh" answers for the toolkit's "x.h"; empty: none does.
  std::string stand_ins{};
};

// The text of an embedded kernel or header by its path in the repository, from kernel_dir when given.
std::optional<std::string> find_embedded(const HeaderPaths& paths, std::string_view path);

}  // namespace gpuforge::jit
