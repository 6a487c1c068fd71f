#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "gpuforge/base/error.h"

namespace gpuforge::cli {

void Output::write(std::string_view text) {
  pending_ += text;
  if (pending_.size() >= (std::size_t{1} << 16)) flush();
}

void Output::flush() {
  std::string text;
  text.swap(pending_);
  std::size_t done = 0;
  while (done < text.size()) {
    const ::ssize_t wrote = ::write(file_descriptor_, text.data() + done, text.size() - done);
    if (wrote >= 0) {
      done += static_cast<std::size_t>(wrote);
      continue;
    }
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno == EPIPE) throw ReaderGone{};
    throw Error(ErrorCode::unavailable,
                format_text("cannot write to standard output: {}", std::strerror(errno)));
  }
}

}  // namespace gpuforge::cli
