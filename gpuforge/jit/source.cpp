#include "gpuforge/jit/source.h"

#include <algorithm>

#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"

namespace gpuforge::jit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

// A path of the repository stays inside it: relative, without "..".
bool is_inside(const fs::path& path) {
  return !path.empty() && path.is_relative() && std::find(path.begin(), path.end(), "..") == path.end();
}

}  // namespace

KernelSource source_from_file(const fs::path& path) {
  KernelSource source;
  source.name = path.string();
  source.text = read_file(path);
  // NVRTC takes the mark that some editors put first for a stray token.
  if (source.text.starts_with(kUtf8Mark)) source.text.erase(0, kUtf8Mark.size());
  const std::size_t nul = source.text.find('\0');
  GPUFORGE_CHECK(nul == std::string::npos,
                 "jit: {} is not a kernel source: expected text, found a zero byte at offset {}", source.name,
                 nul);
  std::error_code ignored;
  const fs::path absolute = fs::absolute(path, ignored);
  source.directory = (ignored ? path : absolute).parent_path();
  return source;
}

Hash128 fingerprint(const KernelSource& source) {
  Hasher hasher;
  hasher.add(source.name).add(source.text).add(source.directory.native());
  // The counts keep a text from wandering from one list to the next.
  hasher.add(source.instantiations.size());
  for (const std::string& instantiation : source.instantiations) hasher.add(instantiation);
  hasher.add(source.defines.size());
  for (const std::string& define : source.defines) hasher.add(define);
  hasher.add(source.include_dirs.size());
  for (const fs::path& folder : source.include_dirs) hasher.add(folder.native());
  hasher.add(source.options.size());
  for (const std::string& option : source.options) hasher.add(option);
  return hasher.finish();
}

std::optional<std::string> find_embedded(const HeaderPaths& paths, std::string_view path) {
  if (paths.kernel_dir) {
    if (!is_inside(fs::path(path))) return std::nullopt;
    const fs::path file = *paths.kernel_dir / path;
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored)) return std::nullopt;
    return read_file(file);
  }
  for (const EmbeddedFile& file : paths.embedded) {
    if (file.path == path) return std::string(file.text);
  }
  return std::nullopt;
}

}  // namespace gpuforge::jit
