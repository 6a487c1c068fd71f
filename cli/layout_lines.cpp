#include "cli/layout_lines.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "cli/layout_report.h"
#include "cli/layout_table.h"
#include "gpuforge/base/error.h"

namespace gpuforge::cli {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 16;

class Answers {
 public:
  Answers(bool table, layout::Bindings bindings, Output& out)
      : table_(table), bindings_(std::move(bindings)), out_(out) {}

  // Part of the input; lines may end anywhere.
  void take(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      add(text.substr(0, end));
      if (end == std::string_view::npos) return;
      finish_line();
      text.remove_prefix(end + 1);
    }
  }
  // The last line may have no end.
  void finish() {
    if (too_long_ || !line_.empty()) finish_line();
  }

 private:
  // No more of a line is kept than is needed to know that it is too long.
  void add(std::string_view part) {
    too_long_ = too_long_ || line_.size() + part.size() > kLongestLine;
    if (!too_long_) line_ += part;
  }

  void finish_line() {
    ++number_;
    answer();
    line_.clear();
    too_long_ = false;
  }

  void answer() {
    const std::string_view text = std::string_view(line_).substr(0, line_.find('#'));
    if (!too_long_ && text.find_first_not_of(" \t\r\v\f") == std::string_view::npos) return;
    Json json = Json::object();
    json.set("line", number_);
    try {
      GPUFORGE_CHECK(!too_long_, "layout: a line has at most {} bytes", kLongestLine);
      const layout::Statement statement = layout::execute(text, bindings_);
      Json found = json;
      if (!statement.name.empty()) found.set("name", statement.name);
      add_value(found, statement.value);
      add_unknown(found, layout::unbound_names(text, bindings_));
      if (table_) found.set("table", table_json(statement.value));
      json = std::move(found);
    } catch (const Error& error) {
      json.set("error", error.message());
    }
    out_.line(json.dump());
  }

  bool table_;
  layout::Bindings bindings_;
  Output& out_;
  std::string line_;
  bool too_long_ = false;
  std::uint64_t number_ = 0;
};

// Bytes read; 0 at the end.
std::size_t read_some(int file_descriptor, std::vector<char>& buffer) {
  while (true) {
    const ::ssize_t got = ::read(file_descriptor, buffer.data(), buffer.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EINTR) continue;
    if (errno != EAGAIN)
      throw Error(ErrorCode::io, format_text("layout: cannot read standard input: {}", std::strerror(errno)));
    pollfd wait = {file_descriptor, POLLIN, 0};
    ::poll(&wait, 1, -1);
  }
}

}  // namespace

void answer_lines(const LineOptions& options, layout::Bindings bindings, Output& out) {
  Answers answers(options.table, std::move(bindings), out);
  std::vector<char> buffer(std::size_t{1} << 16);
  while (const std::size_t size = read_some(options.input, buffer)) {
    answers.take({buffer.data(), size});
    // Whoever waits for an answer before writing on gets it; who writes in bulk fills the buffer.
    out.flush();
  }
  answers.finish();
  out.flush();
}

}  // namespace gpuforge::cli
