#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "gpuforge/jit/jit.h"

namespace gpuforge::jit {
namespace {

namespace fs = std::filesystem;
using Folders = std::vector<fs::path>;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Sorted by name, highest first ("cuda-13.0" before "cuda-12.4"); none when the folder cannot be read.
Folders subfolders(const fs::path& folder) {
  Folders found;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) found.push_back(entry->path());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

// Adds an include folder that holds CUDA's or CCCL's headers, and CCCL's own below it (since CUDA 13); each
// once.
void add_include(Folders& folders, const fs::path& include) {
  for (const fs::path& folder : {include, include / "cccl"}) {
    if (!is_there(folder / "cuda_fp16.h") && !is_there(folder / "cuda_runtime_api.h") &&
        !is_there(folder / "cuda/std/version")) {
      continue;
    }
    const bool known = std::any_of(folders.begin(), folders.end(), [&](const fs::path& other) {
      std::error_code ignored;
      return fs::equivalent(other, folder, ignored);
    });
    if (!known) folders.push_back(folder);
  }
}

// The headers that belong to a library file: <root>/lib64/libnvrtc.so.13 has them in <root>/include; wheels
// of CUDA 12 have a folder per package, nvidia/cuda_nvrtc/lib beside nvidia/cuda_runtime/include and
// nvidia/cuda_cccl/include.
void add_beside(Folders& folders, const fs::path& library) {
  if (!library.has_parent_path()) return;  // left to the loader: no place is known
  const fs::path root = library.parent_path().parent_path();
  add_include(folders, root / "include");
  if (root.parent_path().filename() != "nvidia") return;
  for (const fs::path& package : subfolders(root.parent_path())) add_include(folders, package / "include");
}

}  // namespace

// Headers beside the NVRTC that will be used come first after CUDA_HOME, so that the two are of one release.
Folders toolkit_include_dirs(const cuda::SearchOptions& search) {
  Folders folders;
  if (search.cuda_home) add_include(folders, *search.cuda_home / "include");
  for (const cuda::LibraryKind kind : {cuda::LibraryKind::nvrtc, cuda::LibraryKind::cublas_lt}) {
    for (const cuda::Candidate& candidate : cuda::find_library(kind, search)) {
      add_beside(folders, candidate.path);
    }
  }
  if (search.system) {
    add_include(folders, "/usr/local/cuda/include");
    for (const fs::path& root : subfolders("/usr/local")) {
      if (root.filename().string().starts_with("cuda-")) add_include(folders, root / "include");
    }
    for (const char* include : {"/opt/cuda/include", "/usr/include"}) add_include(folders, include);
  }
  return folders;
}

}  // namespace gpuforge::jit
