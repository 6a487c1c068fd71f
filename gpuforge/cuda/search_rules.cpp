#include "gpuforge/cuda/search_rules.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "gpuforge/base/format.h"

namespace gpuforge::cuda::internal {
namespace {

namespace fs = std::filesystem;
using Folders = std::vector<fs::path>;

struct FileNames {
  std::string_view unversioned;
  std::span<const std::string_view> sonames;  // newest major first
};

constexpr std::array<std::string_view, 1> kDriverNames = {"libcuda.so.1"};
constexpr std::array<std::string_view, 3> kNvrtcNames = {"libnvrtc.so.13", "libnvrtc.so.12",
                                                         "libnvrtc.so.11.2"};
constexpr std::array<std::string_view, 3> kCublasLtNames = {"libcublasLt.so.13", "libcublasLt.so.12",
                                                            "libcublasLt.so.11"};

FileNames file_names(LibraryKind kind) {
  switch (kind) {
    case LibraryKind::driver:
      return {"libcuda.so", kDriverNames};
    case LibraryKind::nvrtc:
      return {"libnvrtc.so", kNvrtcNames};
    case LibraryKind::cublas_lt:
      return {"libcublasLt.so", kCublasLtNames};
  }
  return {};
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// The folders directly in `folder` whose names start so, sorted; none when it cannot be read.
Folders subfolders(const fs::path& folder, std::string_view start = "") {
  Folders found;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    std::error_code ignored;
    if (!entry->path().filename().native().starts_with(start)) continue;
    if (entry->is_directory(ignored)) found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> split(std::string_view list, char separator) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t end = list.find(separator);
    if (end != 0) parts.emplace_back(list.substr(0, end));
    if (end == std::string_view::npos) break;
    list.remove_prefix(end + 1);
  }
  return parts;
}

// Newest major first, then the folders' order.
std::vector<fs::path> copies_in(const Folders& folders, LibraryKind kind) {
  std::vector<fs::path> copies;
  for (const std::string_view soname : file_names(kind).sonames) {
    for (const fs::path& folder : folders) {
      if (is_file(folder / soname)) copies.push_back(folder / soname);
    }
  }
  return copies;
}

std::string joined(const Folders& folders) {
  std::string text;
  for (const fs::path& folder : folders) text += (text.empty() ? "" : ", ") + folder.string();
  return text.empty() ? "no folder" : text;
}

// A folder that may be a library folder itself or the root of a toolkit. Only what exists: every start of a
// program that compiles looks here.
Folders library_folders(const fs::path& root) {
  if (!is_folder(root)) return {};
  Folders folders = {root};
  for (const char* nested : {"lib64", "lib", "targets/x86_64-linux/lib"}) {
    if (is_folder(root / nested)) folders.push_back(root / nested);
  }
  return folders;
}

RuleResult explicit_rule(LibraryKind kind, const SearchOptions& options) {
  RuleResult result{"explicit", {}, "GPUFORGE_LIBRARY_PATH is not set"};
  if (!options.explicit_path) return result;
  result.looked = format_text("nothing in GPUFORGE_LIBRARY_PATH ({})", *options.explicit_path);
  for (const fs::path entry : split(*options.explicit_path, ':')) {
    if (!entry.is_absolute()) {
      result.looked += format_text("; '{}' is not an absolute path and was passed over", entry.string());
    } else if (is_file(entry)) {
      // A file serves the kind its name says: libnvrtc.so, libnvrtc.so.13.0.88, but not libnvrtc-builtins.so.
      if (entry.filename().string().starts_with(file_names(kind).unversioned)) result.copies.push_back(entry);
    } else {
      for (fs::path& copy : copies_in(library_folders(entry), kind)) result.copies.push_back(std::move(copy));
    }
  }
  return result;
}

// Folders under `folder` that may hold libraries, at most `depth` below. Headers and package records are
// large and hold none. Links to folders are not followed: they could form a ring.
void add_nested(Folders& folders, const fs::path& folder, int depth) {
  folders.push_back(folder);
  if (depth == 0) return;
  for (const fs::path& nested : subfolders(folder)) {
    const std::string leaf = nested.filename().string();
    std::error_code ignored;
    const bool skipped = leaf == "include" || leaf == "__pycache__" || leaf == "share" || leaf == "bin" ||
                         leaf.ends_with(".dist-info") || fs::is_symlink(nested, ignored);
    if (!skipped) add_nested(folders, nested, depth - 1);
  }
}

RuleResult deps_rule(LibraryKind kind, const SearchOptions& options) {
  // A virtual environment in .deps is the deepest: lib/python3.11/site-packages/nvidia/cu13/lib.
  constexpr int kDepth = 6;
  RuleResult result{"deps", {}, "the executable's place is not known"};
  if (!options.executable || !options.executable->is_absolute()) return result;
  Folders roots;
  Folders folders;
  for (fs::path folder = options.executable->parent_path();; folder = folder.parent_path()) {
    if (is_folder(folder / ".deps")) {
      roots.push_back(folder / ".deps");
      add_nested(folders, roots.back(), kDepth);
    }
    if (folder == folder.parent_path()) break;
  }
  result.copies = copies_in(folders, kind);
  result.looked = roots.empty() ? format_text("no .deps folder above {}", options.executable->string())
                                : format_text("nothing in {}", joined(roots));
  return result;
}

// Every <prefix>/lib*/python3*/{site,dist}-packages.
void add_site_packages(Folders& folders, const fs::path& prefix) {
  for (const char* library_folder : {"lib", "lib64"}) {
    const Folders pythons = subfolders(prefix / library_folder, "python3");
    for (auto python = pythons.rbegin(); python != pythons.rend(); ++python) {
      for (const char* packages : {"site-packages", "dist-packages"}) {
        if (is_folder(*python / packages)) folders.push_back(*python / packages);
      }
    }
  }
}

std::optional<fs::path> python_on_path(const SearchOptions& options) {
  if (!options.path) return std::nullopt;
  for (const fs::path folder : split(*options.path, ':')) {
    const fs::path python = folder / "python3";
    if (folder.is_absolute() && is_file(python) && ::access(python.c_str(), X_OK) == 0) return python;
  }
  return std::nullopt;
}

// `home = /usr/bin` of a virtual environment's pyvenv.cfg: the folder of the python it was made from.
std::optional<fs::path> venv_home(const fs::path& prefix) {
  std::ifstream file(prefix / "pyvenv.cfg");
  for (std::string line; std::getline(file, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const auto trim = [](std::string text) {
      text.erase(0, text.find_first_not_of(" \t"));
      text.erase(text.find_last_not_of(" \t\r") + 1);
      return text;
    };
    if (trim(line.substr(0, equals)) == "home") return fs::path(trim(line.substr(equals + 1)));
  }
  return std::nullopt;
}

void add_python(Folders& site_packages, const fs::path& python) {
  // The link of a virtual environment leads out of it, so its prefix is taken before following the link.
  const fs::path prefix = python.parent_path().parent_path();
  add_site_packages(site_packages, prefix);
  add_site_packages(site_packages, prefix / "local");
  const bool has_nvidia = std::any_of(site_packages.begin(), site_packages.end(),
                                      [](const fs::path& folder) { return is_folder(folder / "nvidia"); });
  if (has_nvidia) return;
  std::error_code failed;
  if (const std::optional<fs::path> home = venv_home(prefix)) {
    if (home->is_absolute()) {
      add_site_packages(site_packages, home->parent_path());
      add_site_packages(site_packages, home->parent_path() / "local");
    }
  } else if (const fs::path real = fs::canonical(python, failed); !failed && real != python) {
    add_site_packages(site_packages, real.parent_path().parent_path());
  }
}

RuleResult wheel_rule(LibraryKind kind, const SearchOptions& options) {
  RuleResult result{"wheel", {}, "the driver does not come in wheels"};
  if (kind == LibraryKind::driver) return result;
  Folders site_packages;
  if (const std::optional<fs::path> python = python_on_path(options)) add_python(site_packages, *python);
  if (options.home && options.home->is_absolute()) add_site_packages(site_packages, *options.home / ".local");
  if (options.system) {
    for (const char* prefix : {"/usr/local", "/usr"}) add_site_packages(site_packages, prefix);
  }
  Folders folders;
  for (const fs::path& packages : site_packages) {
    for (const fs::path& package : subfolders(packages / "nvidia")) folders.push_back(package / "lib");
  }
  result.copies = copies_in(folders, kind);
  result.looked = format_text("nothing in nvidia/*/lib of {}", joined(site_packages));
  return result;
}

RuleResult loader_rule(LibraryKind kind, const SearchOptions& options) {
  RuleResult result{"loader", {}, "not asked"};
  if (!options.system) return result;
  const FileNames names = file_names(kind);
  result.copies.assign(names.sonames.begin(), names.sonames.end());
  return result;
}

// Library folders of distributions, no toolkit's roots.
constexpr const char* kSystemFolders[] = {
    "/usr/lib/wsl/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib64",       "/usr/lib64/nvidia",         "/run/opengl-driver/lib"};

RuleResult toolkit_rule(LibraryKind kind, const SearchOptions& options) {
  Folders roots;
  if (options.cuda_home && options.cuda_home->is_absolute()) roots.push_back(*options.cuda_home);
  if (options.system) {
    roots.push_back("/usr/local/cuda");
    const Folders versions = subfolders("/usr/local", "cuda-");
    roots.insert(roots.end(), versions.rbegin(), versions.rend());
    for (const char* root : {"/opt/cuda", "/usr/lib/cuda"}) roots.emplace_back(root);
  }
  Folders folders;
  for (const fs::path& root : roots) {
    for (fs::path& folder : library_folders(root)) folders.push_back(std::move(folder));
  }
  if (options.system) {
    folders.insert(folders.end(), std::begin(kSystemFolders), std::end(kSystemFolders));
    roots.insert(roots.end(), std::begin(kSystemFolders), std::end(kSystemFolders));
  }
  return {"toolkit", copies_in(folders, kind), format_text("nothing in {}", joined(roots))};
}

constexpr Rule kRules[] = {explicit_rule, deps_rule, wheel_rule, loader_rule, toolkit_rule};

}  // namespace

std::span<const Rule> search_rules() {
  return kRules;
}

}  // namespace gpuforge::cuda::internal
