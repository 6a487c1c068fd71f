#include "gpuforge/jit/compiler_memo.h"

#include <algorithm>
#include <system_error>

#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/hash.h"
#include "gpuforge/base/json.h"

namespace gpuforge::jit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNvrtcMemo = "nvrtc.json";
constexpr std::string_view kClangMemo = "clang.json";

// A file's size and time; a replaced library differs in one of them.
void add_identity(Hasher& hasher, const fs::path& path) {
  std::error_code failed;
  const std::uintmax_t bytes = fs::file_size(path, failed);
  hasher.add(path.native()).add(failed ? 0 : bytes);
  const fs::file_time_type time = fs::last_write_time(path, failed);
  hasher.add(failed ? 0 : static_cast<std::uint64_t>(time.time_since_epoch().count()));
}

// Every copy the search would try, and what the loader's own search depends on. A memo whose LD_LIBRARY_PATH
// differed passes unseen; the compiler then corrects it when it next compiles.
std::string identity(const cuda::SearchOptions& search, const fs::path& library) {
  Hasher hasher;
  for (const cuda::Candidate& candidate : cuda::find_library(cuda::LibraryKind::nvrtc, search)) {
    if (candidate.path.has_parent_path()) {
      add_identity(hasher, candidate.path);
    } else {
      hasher.add(candidate.path.native());
    }
  }
  add_identity(hasher, "/etc/ld.so.cache");
  add_identity(hasher, library);
  return hasher.finish().hex();
}

// Every program the search would run: one that comes, goes or is replaced makes another.
std::string identity(std::string_view search_path) {
  Hasher hasher;
  for (const fs::path& candidate : clang_candidates(search_path)) add_identity(hasher, candidate);
  return hasher.finish().hex();
}

// Nothing when it is absent.
std::optional<Json> read_memo(const fs::path& memo_dir, std::string_view name) {
  std::error_code failed;
  if (!fs::is_regular_file(memo_dir / name, failed)) return std::nullopt;
  return Json::parse(read_file(memo_dir / name), name);
}

void write_memo(const fs::path& memo_dir, std::string_view name, const Json& memo) {
  std::error_code ignored;
  fs::create_directories(memo_dir, ignored);
  write_file(memo_dir / name, memo.dump(1) + "\n");
}

bool is_version(std::string_view text) {
  return !text.empty() && text.size() < 32 && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

std::optional<CompilerFacts> recall_compiler(const fs::path& memo_dir, const cuda::SearchOptions& search) {
  try {
    const std::optional<Json> memo = read_memo(memo_dir, kNvrtcMemo);
    if (!memo) return std::nullopt;
    const fs::path library = memo->at("library").as_string();
    std::error_code failed;
    if (!fs::is_regular_file(library, failed)) return std::nullopt;
    if (memo->at("identity").as_string() != identity(search, library)) return std::nullopt;
    CompilerFacts facts{memo->at("version").as_string(), {}};
    for (const Json& arch : memo->at("archs").as_array()) {
      const std::int64_t number = arch.as_integer();
      if (number < 10 || number > 9999) return std::nullopt;
      facts.archs.push_back(static_cast<int>(number));
    }
    if (!is_version(facts.version) || facts.archs.empty()) return std::nullopt;
    return facts;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void remember_compiler(const fs::path& memo_dir, const cuda::SearchOptions& search, const fs::path& library,
                       const CompilerFacts& facts) noexcept {
  try {
    Json memo = Json::object();
    memo.set("library", library.string());
    memo.set("identity", identity(search, library));
    memo.set("version", facts.version);
    Json archs = Json::array();
    for (const int arch : facts.archs) archs.push_back(arch);
    memo.set("archs", std::move(archs));
    write_memo(memo_dir, kNvrtcMemo, memo);
  } catch (const std::exception&) {
    // Only speed is lost.
  }
}

std::optional<ClangProgram> recall_clang(const fs::path& memo_dir, std::string_view search_path) {
  try {
    const std::optional<Json> memo = read_memo(memo_dir, kClangMemo);
    if (!memo || memo->at("identity").as_string() != identity(search_path)) return std::nullopt;
    std::optional<ClangProgram> clang = read_clang_answer(memo->at("answer").as_string());
    if (!clang) return std::nullopt;
    clang->path = memo->at("program").as_string();
    const std::vector<fs::path> candidates = clang_candidates(search_path);
    if (std::find(candidates.begin(), candidates.end(), clang->path) == candidates.end()) return std::nullopt;
    return clang;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void remember_clang(const fs::path& memo_dir, std::string_view search_path,
                    const ClangProgram& clang) noexcept {
  try {
    std::string answer = "clang version " + clang.version;
    for (const std::string& processor : clang.processors) answer += " " + processor;
    Json memo = Json::object();
    memo.set("program", clang.path.string());
    memo.set("identity", identity(search_path));
    memo.set("answer", answer);
    write_memo(memo_dir, kClangMemo, memo);
  } catch (const std::exception&) {
    // Only speed is lost.
  }
}

std::string version_in_ptx(std::string_view ptx) {
  constexpr std::string_view kMark = ", V";
  const std::string_view head = ptx.substr(0, 1024);
  const std::size_t release = head.find("Cuda compilation tools, release ");
  if (release == std::string_view::npos) return {};
  const std::size_t mark = head.find(kMark, release);
  if (mark == std::string_view::npos) return {};
  const std::string_view rest = head.substr(mark + kMark.size());
  const std::string_view digits = rest.substr(0, rest.find_first_not_of("0123456789."));
  return is_version(digits) ? std::string(digits) : std::string();
}

}  // namespace gpuforge::jit
