// For tests: a fresh folder of files, removed at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gpuforge::fake_driver {

class TemporaryTree {
 public:
  TemporaryTree() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gpuforge_test_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
    root_ = pattern;
  }
  ~TemporaryTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  TemporaryTree(const TemporaryTree&) = delete;
  TemporaryTree& operator=(const TemporaryTree&) = delete;

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path operator/(std::string_view path) const { return root_ / path; }

  std::filesystem::path folder(std::string_view path) const {
    std::filesystem::create_directories(root_ / path);
    return root_ / path;
  }
  std::filesystem::path write(std::string_view path, std::string_view text = "not a library") const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
    return root_ / path;
  }
  std::filesystem::path copy(const std::filesystem::path& from, std::string_view to) const {
    std::filesystem::create_directories((root_ / to).parent_path());
    std::filesystem::copy_file(from, root_ / to);
    return root_ / to;
  }
  std::filesystem::path link(const std::filesystem::path& target, std::string_view at) const {
    std::filesystem::create_directories((root_ / at).parent_path());
    std::filesystem::create_symlink(target, root_ / at);
    return root_ / at;
  }

 private:
  std::filesystem::path root_;
};

}  // namespace gpuforge::fake_driver
