#include "cli/report.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>

#include "cli/table.h"
#include "gpuforge/base/json.h"

namespace gpuforge::cli {
namespace {

TEST(Report, EveryErrorCodeHasItsExitCode) {
  EXPECT_EQ(exit_code(ErrorCode::compile), 1);
  EXPECT_EQ(exit_code(ErrorCode::cuda), 1);
  EXPECT_EQ(exit_code(ErrorCode::invalid_argument), 2);
  EXPECT_EQ(exit_code(ErrorCode::unsupported), 2);
  EXPECT_EQ(exit_code(ErrorCode::parse), 2);
  EXPECT_EQ(exit_code(ErrorCode::io), 2);
  EXPECT_EQ(exit_code(ErrorCode::unavailable), 3);
  EXPECT_EQ(exit_code(ErrorCode::out_of_memory), 3);
  EXPECT_EQ(exit_code(ErrorCode::internal), 4);
}

class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  ~Pipe() {
    close_reader();
    ::close(ends_[1]);
  }
  int writer() const { return ends_[1]; }
  void close_reader() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }
  std::string read() {
    std::array<char, 4096> buffer;
    const ::ssize_t got = ::read(ends_[0], buffer.data(), buffer.size());
    return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : std::string();
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

TEST(Report, WithJsonTheErrorIsADocument) {
  Pipe pipe;
  Output out(pipe.writer());
  Messages messages(false, false);
  messages.set_level(LogLevel::off);
  const Error error(ErrorCode::compile, "x.cu:1: wrong", "the whole log");
  EXPECT_EQ(report_error(error, "compile", true, out, messages), 1);
  const Json json = Json::parse(pipe.read());
  EXPECT_EQ(json.at("verb").as_string(), "compile");
  EXPECT_TRUE(json.at("gpuforge").is_string());
  EXPECT_EQ(json.at("error").at("code").as_string(), "compile");
  EXPECT_EQ(json.at("error").at("message").as_string(), "x.cu:1: wrong");
  EXPECT_EQ(json.at("error").at("detail").as_string(), "the whole log");
}

TEST(Output, AFullDiskIsAnErrorOnce) {
  const int full = ::open("/dev/full", O_WRONLY);
  if (full < 0) GTEST_SKIP() << "this system has no /dev/full";
  Output out(full);
  out.line("data");
  try {
    out.flush();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_EQ(error.message(), "cannot write to standard output: No space left on device");
  }
  EXPECT_NO_THROW(out.flush());
  ::close(full);
}

TEST(Output, AClosedPipeIsNoError) {
  ::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  pipe.close_reader();
  Output out(pipe.writer());
  out.line("data");
  EXPECT_THROW(out.flush(), ReaderGone);
}

TEST(Messages, CountsWarningsItDoesNotShow) {
  Messages messages(false, false);
  messages.set_level(LogLevel::off);
  messages.write(LogLevel::warning, "one");
  messages.write(LogLevel::info, "two");
  EXPECT_EQ(messages.warnings(), 1);
  EXPECT_FALSE(messages.shows(LogLevel::error));
}

TEST(Table, AlignsColumns) {
  Table table({"name", ">n"});
  EXPECT_TRUE(table.empty());
  table.add_row({"a", "1"});
  table.add_row({"longer", "200"});
  EXPECT_EQ(table.text(), "name      n\na         1\nlonger  200\n");
  EXPECT_THROW(table.add_row({"one"}), Error);
}

}  // namespace
}  // namespace gpuforge::cli
