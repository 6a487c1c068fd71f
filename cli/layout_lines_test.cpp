#include "cli/layout_lines.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "gpuforge/base/json.h"

namespace gpuforge::cli {
namespace {

using testing::HasSubstr;

class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Pipe() { close_writer(), ::close(ends_[0]); }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_writer() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  void write(std::string_view text) const {
    while (!text.empty()) {
      const ::ssize_t wrote = ::write(ends_[1], text.data(), text.size());
      ASSERT_GT(wrote, 0);
      text.remove_prefix(static_cast<std::size_t>(wrote));
    }
  }

 private:
  int ends_[2];
};

std::vector<Json> answers(std::string_view input, bool table = false) {
  Pipe in, out;
  std::string all;
  std::thread feed([&] { in.write(input), in.close_writer(); });
  std::thread drain([&] {
    char buffer[4096];
    for (::ssize_t got; (got = ::read(out.reader(), buffer, sizeof buffer)) > 0;)
      all.append(buffer, static_cast<std::size_t>(got));
  });
  Output output(out.writer());
  answer_lines({.input = in.reader(), .table = table}, {}, output);
  out.close_writer();
  feed.join();
  drain.join();
  std::vector<Json> lines;
  for (std::size_t start = 0, end; (end = all.find('\n', start)) != std::string::npos; start = end + 1)
    lines.push_back(Json::parse(std::string_view(all).substr(start, end - start)));
  return lines;
}

TEST(LayoutLines, FunctionsOneAfterTheOther) {
  const std::vector<Json> found =
      answers("right_inverse(Sw<2,0,3> o 5 o (8,8):(8,1))\n8:1 o 3 o (2,4):(4,1)\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(
      found[0].dump(),
      R"json({"line":1,"layout":"(8,8):(8,1) o -5 o Sw<2,0,3>","shape":null,"size":null,"rank":1,"depth":0})json");
  EXPECT_EQ(
      found[1].dump(),
      R"json({"line":2,"layout":"8:1 o 3 o (2,4):(4,1)","shape":[2,4],"size":8,"rank":2,"depth":1})json");
}

TEST(LayoutLines, EachLineHasAnAnswer) {
  const auto found = answers("size(8:1)\r\n\n  # nothing\nA = (8,4):(1,8)\nA(2,_) # a row\n(\nA(1,1)");
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[0].at("value").as_integer(), 8);
  EXPECT_EQ(found[0].at("line").as_integer(), 1);
  EXPECT_EQ(found[1].at("name").as_string(), "A");
  EXPECT_EQ(found[1].at("layout").as_string(), "(8,4):(1,8)");
  EXPECT_EQ(found[2].at("offset").as_integer(), 2);
  EXPECT_EQ(found[2].at("line").as_integer(), 5);
  EXPECT_THAT(found[3].at("error").as_string(), HasSubstr("column 2"));
  EXPECT_EQ(found[3].find("layout"), nullptr);
  EXPECT_EQ(found[4].at("value").as_integer(), 9) << "the last line has no end";
}

TEST(LayoutLines, TheTableOfEach) {
  const auto found = answers("(2,2):(1,2)\n7\n", true);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].at("table").dump(), "[[0,2],[1,3]]");
  EXPECT_THAT(found[1].at("error").as_string(), HasSubstr("--table shows a layout"));
  EXPECT_EQ(found[1].find("value"), nullptr);
}

TEST(LayoutLines, LongLinesAndAnyBytes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i)
    if (i != '\n' && i != '#' && i != '=') bytes += static_cast<char>(i);
  const auto found =
      answers(std::string(10'000'000, '(') + "\n" + bytes + "\n4:1\n" + std::string(70'000, '1'));
  ASSERT_EQ(found.size(), 4u);
  EXPECT_THAT(found[0].at("error").as_string(), HasSubstr("at most 65536 bytes"));
  EXPECT_THAT(found[1].at("error").as_string(), HasSubstr("the byte 0x00"));
  EXPECT_EQ(found[2].at("layout").as_string(), "4:1");
  EXPECT_THAT(found[3].at("error").as_string(), HasSubstr("at most 65536 bytes"));
}

TEST(LayoutLines, WhoWaitsGetsTheAnswerAtOnce) {
  Pipe in, out;
  Output output(out.writer());
  std::thread server([&] { answer_lines({.input = in.reader()}, {}, output); });
  for (int i = 0; i < 3; ++i) {
    in.write("4:1\n");
    char buffer[4096];
    const ::ssize_t got = ::read(out.reader(), buffer, sizeof buffer);  // hangs where nothing is flushed
    ASSERT_GT(got, 0);
    EXPECT_THAT(std::string(buffer, static_cast<std::size_t>(got)), HasSubstr("\"layout\":\"4:1\""));
  }
  in.close_writer();
  server.join();
}

}  // namespace
}  // namespace gpuforge::cli
