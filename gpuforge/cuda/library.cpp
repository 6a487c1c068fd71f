#include "gpuforge/cuda/library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "gpuforge/base/format.h"
#include "gpuforge/cuda/search_rules.h"

namespace gpuforge::cuda {
namespace {

namespace fs = std::filesystem;

// Folders reached by two ways (lib64 -> lib) give one copy. The file itself is not resolved: a library opened
// through a link may look for its companions beside the link.
struct Identity {
  dev_t device = 0;
  ino_t folder = 0;
  fs::path file;
  friend bool operator==(const Identity&, const Identity&) = default;
};

Identity identity(const fs::path& copy) {
  struct stat facts = {};
  if (!copy.has_parent_path() || ::stat(copy.parent_path().c_str(), &facts) != 0) return {0, 0, copy};
  return {facts.st_dev, facts.st_ino, copy.filename()};
}

// The copies of `kind` not seen before, rule by rule, so that later rules cost nothing once one served.
class Search {
 public:
  Search(LibraryKind kind, const SearchOptions& options) : kind_(kind), options_(options) {}

  internal::RuleResult run(internal::Rule rule) {
    internal::RuleResult result = rule(kind_, options_);
    std::erase_if(result.copies, [this](const fs::path& copy) {
      Identity known = identity(copy);
      if (std::find(seen_.begin(), seen_.end(), known) != seen_.end()) return true;
      seen_.push_back(std::move(known));
      return false;
    });
    return result;
  }

 private:
  LibraryKind kind_;
  const SearchOptions& options_;
  std::vector<Identity> seen_;
};

void add_line(std::string& text, const std::string& line) {
  text += (text.empty() ? "" : "\n") + line;
}

}  // namespace

std::string_view name(LibraryKind kind) {
  switch (kind) {
    case LibraryKind::driver:
      return "CUDA driver";
    case LibraryKind::nvrtc:
      return "NVRTC";
    case LibraryKind::cublas_lt:
      return "cuBLASLt";
  }
  return "unknown library";
}

SearchOptions search_options(const Environment& environment) {
  SearchOptions options;
  if (environment.library_path == "none") {
    options.system = false;
    return options;
  }
  options.explicit_path = environment.library_path;
  options.path = environment.path;
  if (environment.home) options.home = *environment.home;
  if (environment.cuda_home) options.cuda_home = *environment.cuda_home;
  std::error_code failed;
  fs::path executable = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) options.executable = std::move(executable);
  return options;
}

std::vector<Candidate> find_library(LibraryKind kind, const SearchOptions& options) {
  Search search(kind, options);
  std::vector<Candidate> candidates;
  for (const internal::Rule rule : internal::search_rules()) {
    internal::RuleResult result = search.run(rule);
    for (fs::path& copy : result.copies) candidates.push_back({std::move(copy), result.rule});
  }
  return candidates;
}

std::optional<SharedLibrary> SharedLibrary::open(const fs::path& path, std::string* why) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    if (why != nullptr) *why = reason == nullptr ? "the loader gave no reason" : reason;
    return std::nullopt;
  }
  SharedLibrary library;
  library.handle_ = handle;
  library.path_ = path;
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name[0] != '\0') {
    library.path_ = map->l_name;
  }
  return library;
}

void* SharedLibrary::symbol(const char* symbol_name) const {
  return ::dlsym(handle_, symbol_name);
}

std::optional<SharedLibrary> SharedLibrary::open_first(LibraryKind kind, const SearchOptions& options,
                                                       std::string* why, const Usable& usable) {
  Search search(kind, options);
  std::string passed_over;
  std::string report;
  for (const internal::Rule rule : internal::search_rules()) {
    const internal::RuleResult result = search.run(rule);
    if (result.copies.empty()) add_line(report, format_text("{}: {}", result.rule, result.looked));
    for (const fs::path& copy : result.copies) {
      std::string reason;
      std::optional<SharedLibrary> library = open(copy, &reason);
      if (library && (!usable || usable(*library, &reason))) {
        library->rule_ = result.rule;
        if (why != nullptr) *why = std::move(passed_over);
        return library;
      }
      const std::string line = format_text("{}: {}: {}", result.rule, copy.string(), reason);
      add_line(report, line);
      // The loader's "no such file" is no broken copy worth telling of when another one serves.
      if (library || copy.has_parent_path()) add_line(passed_over, line);
    }
  }
  if (why != nullptr) *why = std::move(report);
  return std::nullopt;
}

}  // namespace gpuforge::cuda
