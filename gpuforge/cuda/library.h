// Finding and opening NVIDIA's shared libraries at run time. Nothing of CUDA is linked.
//
// Search order, first usable copy wins:
//   1. explicit     files or folders in GPUFORGE_LIBRARY_PATH, separated by ':'; "none" ends the search there
//   2. deps         .deps/ of the tree the executable (not the current folder) lies in
//   3. wheel        nvidia/*/lib folders in the site-packages of the python3 on PATH, of ~/.local and of the
//   system
//                   (NVRTC and cuBLASLt; the driver never comes in a wheel)
//   4. loader       the dynamic loader's own search (ldconfig, LD_LIBRARY_PATH)
//   5. toolkit      CUDA_HOME, /usr/local/cuda*, /opt/cuda, /usr/lib/cuda, /usr/lib/wsl/lib, distribution
//   folders
// Within a rule the newest major version (13, 12, 11) comes first; within `explicit` the caller's order does.
// The current folder never matters: relative entries of the path lists are passed over.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/base/environment.h"

namespace gpuforge::cuda {

enum class LibraryKind { driver, nvrtc, cublas_lt };

std::string_view name(LibraryKind kind);  // "CUDA driver", "NVRTC", "cuBLASLt"

struct SearchOptions {
  std::optional<std::string> explicit_path;
  std::optional<std::filesystem::path> executable;
  std::optional<std::string> path;  // PATH, to find python3
  std::optional<std::filesystem::path> home;
  std::optional<std::filesystem::path> cuda_home;
  bool system =
      true;  // the loader and every folder with a fixed name (/usr/..., /opt/...); tests turn it off
};
SearchOptions search_options(const Environment& environment);

struct Candidate {
  std::filesystem::path path;  // as given to dlopen; for the loader rule a bare soname
  std::string_view rule;       // "explicit", "deps", "wheel", "loader", "toolkit"
};

// Every existing copy in search order, without opening any (the loader rule is listed by soname).
std::vector<Candidate> find_library(LibraryKind kind, const SearchOptions& options);

// An open library; closing is left to process exit, since a driver cannot be unloaded safely.
class SharedLibrary {
 public:
  // Empty when `path` cannot be opened; `why` then gets the loader's sentence.
  static std::optional<SharedLibrary> open(const std::filesystem::path& path, std::string* why = nullptr);

  void* symbol(const char* symbol_name) const;                 // nullptr when absent
  const std::filesystem::path& path() const { return path_; }  // the file really opened, symlinks kept
  std::string_view rule() const { return rule_; }

  // False, with a reason, for a copy that opened but is of no use.
  using Usable = std::function<bool(const SharedLibrary& library, std::string* why)>;
  // The first candidate that opens and is usable. `why` gets a line for each rule and copy that was passed
  // over.
  static std::optional<SharedLibrary> open_first(LibraryKind kind, const SearchOptions& options,
                                                 std::string* why, const Usable& usable = {});

 private:
  SharedLibrary() = default;
  void* handle_ = nullptr;
  std::filesystem::path path_;
  std::string_view rule_;
};

}  // namespace gpuforge::cuda
