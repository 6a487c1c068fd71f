// Finds a clang that compiles .cu files to PTX: on the search path, of version 16 or newer, with the NVPTX
// target. Nothing of NVIDIA's is needed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/jit/arch.h"

namespace gpuforge::jit {

inline constexpr int kOldestClang = 16;

struct ClangProgram {
  std::filesystem::path path;  // as found on the search path, symlinks kept
  std::string version;         // "19.1.7"
  int major = 0;
  std::vector<std::string> processors;  // "sm_90a", as its back end calls them
  bool knows(const Arch& arch) const;
  std::vector<int> arch_numbers() const;  // 80, 86, ... from sm_80 on, sorted
};

// `search_path` is PATH; relative folders in it are passed over. Runs each candidate once.
std::optional<ClangProgram> find_clang(std::string_view search_path);
// The programs it would run, in that order.
std::vector<std::filesystem::path> clang_candidates(std::string_view search_path);
// What a clang answers to the question for its processors; nothing when it is too old or has no NVPTX.
std::optional<ClangProgram> read_clang_answer(std::string_view answer);

}  // namespace gpuforge::jit
