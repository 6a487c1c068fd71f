#include "gpuforge/base/find_program.h"

#include <unistd.h>

#include <algorithm>

namespace gpuforge {

namespace fs = std::filesystem;

std::vector<fs::path> search_folders(std::string_view search_path) {
  std::vector<fs::path> folders;
  while (!search_path.empty()) {
    const std::size_t colon = std::min(search_path.find(':'), search_path.size());
    fs::path folder(search_path.substr(0, colon));
    if (folder.is_absolute()) folders.push_back(std::move(folder));
    search_path.remove_prefix(std::min(colon + 1, search_path.size()));
  }
  return folders;
}

bool is_program(const fs::path& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed) && ::access(path.c_str(), X_OK) == 0;
}

std::optional<fs::path> find_program(std::string_view name, std::string_view search_path) {
  for (const fs::path& folder : search_folders(search_path)) {
    if (fs::path candidate = folder / name; is_program(candidate)) return candidate;
  }
  return std::nullopt;
}

}  // namespace gpuforge
