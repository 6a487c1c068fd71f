#include "gpuforge/jit/clang_program.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>

#include "gpuforge/base/child_process.h"
#include "gpuforge/base/find_program.h"

namespace gpuforge::jit {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kAnswerLimit{20};
// Those that were tried come first.
constexpr std::string_view kNames[] = {"clang++-19", "clang++-18", "clang++-17", "clang++-16",
                                       "clang++-20", "clang++-21", "clang++"};

int leading_number(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// "19.1.7" of "Debian clang version 19.1.7 (3~deb12u1)".
std::string version_of(std::string_view answer) {
  constexpr std::string_view kMark = "clang version ";
  const std::size_t at = answer.find(kMark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = answer.substr(at + kMark.size(), 32);
  std::string version(rest.substr(0, rest.find_first_not_of("0123456789.")));
  while (version.ends_with('.')) version.pop_back();
  return version;
}

}  // namespace

bool ClangProgram::knows(const Arch& arch) const {
  Arch real = arch;
  real.is_virtual = false;
  return std::find(processors.begin(), processors.end(), real.name()) != processors.end();
}

std::vector<int> ClangProgram::arch_numbers() const {
  std::set<int> numbers;
  for (const std::string& processor : processors) {
    const int number = leading_number(std::string_view(processor).substr(3));
    if (number >= 80) numbers.insert(number);
  }
  return {numbers.begin(), numbers.end()};
}

std::optional<ClangProgram> read_clang_answer(std::string_view answer) {
  ClangProgram found;
  found.version = version_of(answer);
  found.major = leading_number(found.version);
  if (found.major < kOldestClang) return std::nullopt;
  const auto is_part = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_'; };
  for (std::size_t at = 0; (at = answer.find("sm_", at)) != std::string_view::npos;) {
    std::size_t end = at;
    while (end < answer.size() && is_part(answer[end])) ++end;
    std::string word(answer.substr(at, end - at));
    if (std::find(found.processors.begin(), found.processors.end(), word) == found.processors.end())
      found.processors.push_back(std::move(word));
    at = end;
  }
  if (found.processors.empty()) return std::nullopt;
  return found;
}

std::vector<fs::path> clang_candidates(std::string_view search_path) {
  const std::vector<fs::path> folders = search_folders(search_path);
  std::vector<fs::path> candidates;
  for (const std::string_view name : kNames)
    for (const fs::path& folder : folders)
      if (is_program(folder / name)) candidates.push_back(folder / name);
  return candidates;
}

std::optional<ClangProgram> find_clang(std::string_view search_path) {
  for (const fs::path& path : clang_candidates(search_path)) {
    const ChildResult child =
        run_child(path, {"--target=nvptx64-nvidia-cuda", "--print-supported-cpus"}, kAnswerLimit);
    std::optional<ClangProgram> found;
    if (child.good()) found = read_clang_answer(child.out + "\n" + child.err);
    if (!found) continue;
    found->path = path;
    return found;
  }
  return std::nullopt;
}

}  // namespace gpuforge::jit
