#include "gpuforge/layout/rasterise.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "gpuforge/base/child_process.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/find_program.h"

namespace gpuforge::layout {
namespace {

constexpr std::string_view kConverter = "rsvg-convert";
constexpr std::chrono::seconds kLimit{60};
constexpr std::int64_t kLongestSide = 4096;

// The picture in memory, where the child can open it by name: nothing can be left behind on disk.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content) : descriptor_(::memfd_create("picture.svg", 0)) {
    if (descriptor_ < 0) fail();
    while (!content.empty()) {
      const ::ssize_t written = ::write(descriptor_, content.data(), content.size());
      if (written < 0 && errno != EINTR) fail();
      if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  ~MemoryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return format_text("/proc/self/fd/{}", descriptor_); }

 private:
  [[noreturn]] void fail() {
    const int problem = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    throw Error(ErrorCode::unavailable, format_text("picture: no memory for it: {}", std::strerror(problem)));
  }
  int descriptor_;
};

// The first number after `name="`.
std::int64_t attribute(std::string_view svg, std::string_view name) {
  const std::size_t at = svg.find(format_text(" {}=\"", name));
  std::int64_t value = 0;
  if (at != std::string_view::npos)
    std::from_chars(svg.data() + at + name.size() + 3, svg.data() + svg.size(), value);
  return value;
}

}  // namespace

std::string rasterise(std::string_view svg, const std::optional<std::string>& search_path) {
  const std::optional<std::filesystem::path> converter = find_program(kConverter, search_path.value_or(""));
  if (!converter)
    throw Error(
        ErrorCode::unavailable,
        format_text("picture: a PNG needs the program {}, which is not on PATH; install it (Debian and "
                    "Ubuntu: package librsvg2-bin), or ask for SVG",
                    kConverter));
  const MemoryFile file(svg);
  const std::int64_t side = std::max(attribute(svg, "width"), attribute(svg, "height"));
  const ChildResult result = run_child(
      *converter, {"--format=png", side * 2 <= kLongestSide ? "--zoom=2" : "--zoom=1", file.path()}, kLimit);
  if (!result.good() || !result.out.starts_with("\x89PNG"))
    throw Error(ErrorCode::unavailable,
                format_text("picture: {} made no PNG: {}", converter->string(),
                            result.good() ? "its output is something else" : describe(result, kLimit)),
                result.err);
  return result.out;
}

}  // namespace gpuforge::layout
