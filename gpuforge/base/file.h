// Files: whole reads, atomic writes, read-only mappings.
// Failures are Errors that name the path and the reason.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace gpuforge {

// io Error when it cannot be read (absent, a folder, no permission). Plain files only: a pipe could block
// and a device never end.
std::string read_file(const std::filesystem::path& path);
// Written beside and renamed: readers see the old file or the new one; pipes and devices are written in
// place. A name that cannot be (no such folder) is an io Error, what the machine refuses (disk full,
// read-only, no permission) an unavailable Error; either leaves the old file and no litter.
void write_file(const std::filesystem::path& path, std::string_view content);
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

// The running program, symlinks resolved.
std::filesystem::path executable_path();

}  // namespace gpuforge
