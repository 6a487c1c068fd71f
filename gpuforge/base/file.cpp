#include "gpuforge/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "gpuforge/base/error.h"

namespace gpuforge {
namespace {

std::string reason_text(int error) {
  return std::generic_category().message(error);
}

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }
  // False when the system reports a write that failed late; errno says why.
  bool close() { return value_ < 0 || ::close(std::exchange(value_, -1)) == 0; }

 private:
  int value_;
};

[[noreturn]] void fail_read(const std::filesystem::path& path, std::string_view reason) {
  throw Error(ErrorCode::io, format_text("file: cannot read '{}': {}", path.string(), reason));
}

[[noreturn]] void fail_write(const std::filesystem::path& path, int error) {
  // A wrong name is the caller's to correct; everything else is what this machine cannot give now.
  const bool wrong_name = error == ENOENT || error == ENOTDIR || error == EISDIR || error == ENAMETOOLONG ||
                          error == ELOOP || error == EINVAL || error == ENOTEMPTY;
  throw Error(wrong_name ? ErrorCode::io : ErrorCode::unavailable,
              format_text("file: cannot write '{}': {}", path.string(), reason_text(error)));
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "it is a folder";
  if (S_ISFIFO(mode)) return "it is a pipe, a plain file is needed";
  if (S_ISSOCK(mode)) return "it is a socket, a plain file is needed";
  return "it is a device, a plain file is needed";
}

// Opens a plain file. Pipes could block forever and devices never end, so both are refused.
std::size_t open_plain_file(const std::filesystem::path& path, int& descriptor) {
  descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail_read(path, reason_text(errno));
  struct stat status {};
  const int result = ::fstat(descriptor, &status);
  const int error = errno;
  if (result == 0 && S_ISREG(status.st_mode)) return static_cast<std::size_t>(status.st_size);
  ::close(std::exchange(descriptor, -1));
  fail_read(path, result == 0 ? std::string(kind_of(status.st_mode)) : reason_text(error));
}

// 0, or the errno of the write that failed.
int write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  int opened = -1;
  const std::size_t size = open_plain_file(path, opened);
  const Descriptor file(opened);
  try {
    // The size is a hint: files of /proc say 0, and a file may grow while it is read.
    std::string content;
    std::size_t used = 0;
    content.resize(size + 1);
    for (;;) {
      if (used == content.size()) content.resize(content.size() * 2 + 4096);
      const ssize_t got = ::read(file.get(), content.data() + used, content.size() - used);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_read(path, reason_text(errno));
      if (got == 0) break;
      used += static_cast<std::size_t>(got);
    }
    content.resize(used);
    return content;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::out_of_memory, format_text("file: not enough memory to read '{}'", path.string()));
  } catch (const std::length_error&) {
    throw Error(ErrorCode::out_of_memory, format_text("file: not enough memory to read '{}'", path.string()));
  }
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::path target = path;
  std::error_code ignored;
  // A link stays a link: the file it leads to is replaced.
  if (std::filesystem::is_symlink(path, ignored)) {
    std::filesystem::path resolved = std::filesystem::canonical(path, ignored);
    if (!ignored) target = std::move(resolved);
  }
  struct stat status {};
  const bool exists = ::stat(target.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail_write(path, EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    // Pipes and devices are written to; a rename would put a file in the place of /dev/null.
    Descriptor device(::open(target.c_str(), O_WRONLY | O_CLOEXEC));
    if (device.get() < 0) fail_write(path, errno);
    if (const int error = write_all(device.get(), content); error != 0) fail_write(path, error);
    if (!device.close()) fail_write(path, errno);
    return;
  }

  // A short name of its own: the target's name may already be as long as names can be.
  std::filesystem::path temporary;
  int opened = -1;
  for (int attempt = 0; opened < 0; ++attempt) {
    temporary = target.parent_path() / format_text(".gpuforge-{}-{}.tmp", ::getpid(), attempt);
    opened = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (opened < 0 && errno != EEXIST) fail_write(path, errno);
  }
  Descriptor file(opened);
  if (exists) ::fchmod(file.get(), status.st_mode & 07777);
  int error = write_all(file.get(), content);
  if (!file.close() && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    fail_write(path, error);
  }
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  int opened = -1;
  const std::size_t size = open_plain_file(path, opened);
  const Descriptor file(opened);
  if (size == 0) return;  // the system maps nothing of no length
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) fail_read(path, reason_text(errno));
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

std::filesystem::path executable_path() {
  std::error_code error;
  std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    throw Error(ErrorCode::unavailable,
                format_text("file: cannot find the running program: /proc/self/exe: {}", error.message()));
  }
  return path;
}

}  // namespace gpuforge
