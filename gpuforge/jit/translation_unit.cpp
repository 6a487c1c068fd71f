#include "gpuforge/jit/translation_unit.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/jit/include_scanner.h"

namespace gpuforge::jit {
namespace {

namespace fs = std::filesystem;
using Form = IncludeDirective::Form;

// A change of what the key covers, or of the options the compiler adds by itself, gets a new number here.
constexpr std::uint64_t kKeyFormat = 1;
constexpr std::uintmax_t kMaxHeaderBytes = std::uintmax_t{256} << 20;
constexpr std::size_t kMaxHeaders = 100000;
// Headers whose text changes with every release: they stand for what computed includes inside the toolkit
// reach.
constexpr std::string_view kVersionHeaders[] = {"cuda.h", "cuda/std/__cccl/version.h", "thrust/version.h"};

fs::path absolute_folder(const fs::path& folder) {
  std::error_code failed;
  fs::path absolute = fs::absolute(folder, failed);
  return failed ? folder : absolute.lexically_normal();
}

// Folders given as -I options become include_dirs, so that this search and the compiler's see the same list.
// What --pre-include names is returned: it is read before the first line.
std::vector<std::string> take_include_options(KernelSource& source) {
  std::vector<std::string> kept;
  std::vector<std::string> pre_includes;
  for (std::size_t i = 0; i < source.options.size(); ++i) {
    const std::string& option = source.options[i];
    const bool has_next = i + 1 < source.options.size();
    if ((option == "-I" || option == "--include-path") && has_next) {
      source.include_dirs.emplace_back(source.options[++i]);
    } else if (option.starts_with("--include-path=")) {
      source.include_dirs.emplace_back(option.substr(option.find('=') + 1));
    } else if (option.starts_with("-I") && option.size() > 2) {
      source.include_dirs.emplace_back(option.substr(option[2] == '=' ? 3 : 2));
    } else {
      kept.push_back(option);
      if ((option == "-include" || option == "--pre-include") && has_next) {
        pre_includes.push_back(source.options[++i]);
        kept.push_back(source.options[i]);
      } else if (option.starts_with("-include=") || option.starts_with("--pre-include=")) {
        pre_includes.push_back(option.substr(option.find('=') + 1));
      }
    }
  }
  source.options = std::move(kept);
  return pre_includes;
}

// Walks the graph of includes, each file once, without recursion.
class Resolver {
 public:
  Resolver(KernelSource source, const HeaderPaths& paths) : paths_(paths) {
    const std::vector<std::string> pre_includes = take_include_options(source);
    for (fs::path& folder : source.include_dirs) folder = absolute_folder(folder);
    const fs::path directory = source.directory.empty() ? fs::path() : absolute_folder(source.directory);
    File root{.folder = directory, .includes = scan_includes(source.text)};
    for (auto name = pre_includes.rbegin(); name != pre_includes.rend(); ++name) {
      root.includes.insert(root.includes.begin(), IncludeDirective{.form = Form::quotes, .name = *name});
    }
    files_.push_back(std::move(root));
    const std::string file_name = fs::path(source.name).filename().string();
    // A folder that cannot exist keeps the compiler from looking in the current one.
    unit_.program_name = directory.empty() ? "<memory>/" + file_name : (directory / file_name).string();
    unit_.source = std::move(source);
    list_search_dirs(directory);
  }

  TranslationUnit run() {
    Hasher reached;
    for (std::size_t at = 0; at < files_.size(); ++at) {
      const std::vector<IncludeDirective> includes = std::move(files_[at].includes);
      reached.add(files_[at].content.high).add(files_[at].content.low).add(includes.size());
      for (const IncludeDirective& include : includes) {
        reached.add(static_cast<std::uint64_t>(include.form)).add(include.name);
        reached.add(answer(at, include).value_or(0));  // the root has number 0 and answers nothing
      }
    }
    if (unit_.uses_toolkit) add_toolkit_versions(reached);
    if (unit_.uses_toolkit || unit_.computed_include) {
      unit_.search_dirs.insert(unit_.search_dirs.end(), paths_.toolkit.begin(), paths_.toolkit.end());
    }
    unit_.reached = reached.finish();
    return std::move(unit_);
  }

 private:
  struct File {
    fs::path folder{};  // where its quotes look first; none for headers in memory
    std::vector<IncludeDirective> includes{};
    Hash128 content{};
    bool toolkit = false;
  };
  struct Folder {
    fs::path path;
    bool toolkit = false;
  };

  void list_search_dirs(const fs::path& directory) {
    if (!directory.empty()) unit_.searched.push_back(directory.string());
    for (const fs::path& folder : unit_.source.include_dirs) {
      const bool toolkit =
          std::any_of(paths_.toolkit.begin(), paths_.toolkit.end(), [&](const fs::path& known) {
            std::error_code ignored;
            return fs::equivalent(known, folder, ignored);
          });
      user_folders_.push_back({folder, toolkit});
      unit_.search_dirs.push_back(folder);
      unit_.searched.push_back(folder.string());
    }
    unit_.searched.push_back(paths_.kernel_dir ? paths_.kernel_dir->string() : "the headers inside gpuforge");
    for (const fs::path& folder : paths_.toolkit) unit_.searched.push_back(folder.string());
  }

  // The number of the file that answers an #include; nothing when there is none, or it cannot be known.
  std::optional<std::size_t> answer(std::size_t includer, const IncludeDirective& include) {
    const bool from_toolkit = files_[includer].toolkit;
    if (include.form == Form::computed) {
      if (!from_toolkit) unit_.computed_include = true;
      return std::nullopt;
    }
    std::optional<std::size_t> found;
    if (include.next) {
      found = find_next(includer, include.name);
    } else {
      const fs::path name(include.name);
      if (name.is_absolute()) {
        found = open_file(name, from_toolkit);
      } else {
        if (include.form == Form::quotes && !files_[includer].folder.empty()) {
          found = open_file(files_[includer].folder / name, from_toolkit);
        }
        if (!found) found = find_in_folders(include.name);
      }
    }
    if (found && files_[*found].toolkit) unit_.uses_toolkit = true;
    if (!found && !from_toolkit &&
        std::find(unit_.missing.begin(), unit_.missing.end(), include.name) == unit_.missing.end()) {
      unit_.missing.push_back(include.name);
    }
    return found;
  }

  std::optional<std::size_t> find_in_folders(const std::string& name) {
    const auto [known, fresh] = by_name_.try_emplace(name);
    if (!fresh) return known->second;
    std::optional<std::size_t> found;
    for (const Folder& folder : user_folders_) {
      if (!found) found = open_file(folder.path / name, folder.toolkit);
    }
    if (!found) found = open_embedded(name);
    for (const fs::path& folder : paths_.toolkit) {
      if (!found) found = open_file(folder / name, true);
    }
    known->second = found;
    return found;
  }

  // #include_next: the folders after the one that holds the includer.
  std::optional<std::size_t> find_next(std::size_t includer, const std::string& name) {
    bool passed = false;
    std::optional<std::size_t> first;
    const auto try_folder = [&](const fs::path& folder, bool toolkit) -> std::optional<std::size_t> {
      const std::optional<std::size_t> found = open_file(folder / name, toolkit);
      if (!found) return std::nullopt;
      if (passed) return found;
      if (found == includer) passed = true;
      if (!first) first = found;
      return std::nullopt;
    };
    for (const Folder& folder : user_folders_) {
      if (const auto found = try_folder(folder.path, folder.toolkit)) return found;
    }
    for (const fs::path& folder : paths_.toolkit) {
      if (const auto found = try_folder(folder, true)) return found;
    }
    return passed ? std::nullopt : first;
  }

  std::optional<std::size_t> open_embedded(const std::string& name) {
    try {
      std::optional<std::string> text = find_embedded(paths_, name);
      if (!text && !paths_.stand_ins.empty() && name.ends_with(".h"))
        text = find_embedded(paths_, paths_.stand_ins + name.substr(0, name.size() - 2) + ".cuh");
      if (!text) return std::nullopt;
      files_.push_back({.includes = scan_includes(*text), .content = hash_text(*text)});
      const std::string where = paths_.kernel_dir ? (*paths_.kernel_dir / name).string() : "embedded";
      unit_.headers.push_back({name, std::move(*text), where});
      return files_.size() - 1;
    } catch (const Error&) {
      unit_.computed_include = true;  // there, but not readable now
      return std::nullopt;
    }
  }

  std::optional<std::size_t> open_file(const fs::path& path, bool toolkit) {
    std::error_code failed;
    if (!fs::is_regular_file(path, failed)) return std::nullopt;
    const std::string identity = (real_folder(path.parent_path()) / path.filename()).string();
    if (const auto known = by_identity_.find(identity); known != by_identity_.end()) return known->second;
    const std::uintmax_t bytes = fs::file_size(path, failed);
    if (failed || bytes > kMaxHeaderBytes || files_.size() >= kMaxHeaders) {
      unit_.computed_include = true;  // the compiler may read what we do not
      return std::nullopt;
    }
    try {
      const std::string text = read_file(path);
      files_.push_back({.folder = path.parent_path(),
                        .includes = scan_includes(text),
                        .content = hash_text(text),
                        .toolkit = toolkit});
    } catch (const Error&) {
      unit_.computed_include = true;
      return std::nullopt;
    }
    unit_.files.push_back({path, files_.back().content, toolkit});
    by_identity_.emplace(identity, files_.size() - 1);
    return files_.size() - 1;
  }

  // One name per folder, however it is reached: a header that includes itself as "sub/../x.h" is found once.
  // The file's own symlinks stay, since its quotes look beside the link.
  const fs::path& real_folder(const fs::path& folder) {
    const auto [known, fresh] = real_folders_.try_emplace(folder.string());
    if (fresh) {
      std::error_code failed;
      fs::path real = fs::canonical(folder, failed);
      known->second = failed ? folder : std::move(real);
    }
    return known->second;
  }

  void add_toolkit_versions(Hasher& reached) const {
    for (const fs::path& folder : paths_.toolkit) {
      for (const std::string_view name : kVersionHeaders) {
        std::error_code failed;
        const fs::path path = folder / name;
        if (!fs::is_regular_file(path, failed)) continue;
        try {
          const Hash128 content = hash_text(read_file(path));
          reached.add(name).add(content.high).add(content.low);
        } catch (const Error&) {
          reached.add(name);
        }
      }
    }
  }

  const HeaderPaths& paths_;
  TranslationUnit unit_;
  std::vector<File> files_;  // the source first
  std::vector<Folder> user_folders_;
  std::unordered_map<std::string, std::optional<std::size_t>> by_name_;
  std::unordered_map<std::string, std::size_t> by_identity_;
  std::unordered_map<std::string, fs::path> real_folders_;
};

void add_list(Hasher& hasher, const std::vector<std::string>& list) {
  hasher.add(list.size());
  for (const std::string& text : list) hasher.add(text);
}

}  // namespace

TranslationUnit resolve(KernelSource source, const HeaderPaths& paths) {
  return Resolver(std::move(source), paths).run();
}

bool unchanged(const TranslationUnit& unit, const HeaderPaths& paths) {
  return resolve(unit.source, paths).reached == unit.reached;
}

Hash128 cache_key(const TranslationUnit& unit, const Arch& arch, std::string_view compiler_version,
                  std::string_view product_version) {
  Hasher key;
  key.add(kKeyFormat).add(product_version).add(compiler_version);
  key.add(static_cast<std::uint64_t>(arch.number())).add(static_cast<std::uint64_t>(arch.suffix));
  key.add(static_cast<std::uint64_t>(arch.is_virtual));
  // The name without its folder: messages and __FILE__ show it, and two clones share their entries.
  key.add(std::filesystem::path(unit.source.name).filename().native()).add(unit.source.text);
  add_list(key, unit.source.instantiations);
  add_list(key, unit.source.defines);
  add_list(key, unit.source.options);
  key.add(unit.reached.high).add(unit.reached.low);
  return key.finish();
}

}  // namespace gpuforge::jit
