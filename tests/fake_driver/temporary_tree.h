// For tests: a fresh folder of files, removed at the end.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "gpuforge/base/temporary_folder_for_tests.h"

namespace gpuforge::fake_driver {

class TemporaryTree {
 public:
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
  const TemporaryFolder temporary_;
  const std::filesystem::path root_ = temporary_.path();
};

}  // namespace gpuforge::fake_driver
