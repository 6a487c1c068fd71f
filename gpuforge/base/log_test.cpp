#include "gpuforge/base/log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace gpuforge {
namespace {

TEST(LogLevel, NamesReadBack) {
  for (LogLevel level :
       {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error, LogLevel::off}) {
    EXPECT_EQ(parse_log_level(name(level)), level);
  }
  EXPECT_EQ(parse_log_level("WARN"), LogLevel::warning);
  EXPECT_EQ(parse_log_level("Debug"), LogLevel::debug);
  for (const char* text : {"", "verbose", "1", "info "})
    EXPECT_EQ(parse_log_level(text), std::nullopt) << text;
}

TEST(Log, DiscardsByDefault) {
  Log log;
  EXPECT_FALSE(log.enabled(LogLevel::error));
  log.warning("nobody {}", "hears");
  log.write(LogLevel::error, "this");
}

TEST(Log, PassesItsLevelAndAbove) {
  std::vector<std::string> lines;
  Log log(LogLevel::warning, [&](LogLevel level, std::string_view message) {
    lines.push_back(std::string(name(level)) + " " + std::string(message));
  });
  log.debug("a");
  log.info("b {}", 1);
  log.warning("c {}", 2);
  log.write(LogLevel::error, "d {}");  // text, not a pattern
  EXPECT_EQ(lines, (std::vector<std::string>{"warning c 2", "error d {}"}));
}

TEST(Log, OffIsSilent) {
  int calls = 0;
  Log log(LogLevel::off, [&](LogLevel, std::string_view) { ++calls; });
  log.write(LogLevel::error, "x");
  log.write(LogLevel::off, "x");
  EXPECT_EQ(calls, 0);
}

TEST(Log, SwallowsWhatTheSinkThrowsAndGoesOn) {
  int calls = 0;
  Log log(LogLevel::debug, [&](LogLevel, std::string_view) {
    ++calls;
    if (calls == 1) throw std::runtime_error("disk full");
    if (calls == 2) throw 42;
  });
  EXPECT_NO_THROW(log.info("one"));
  EXPECT_NO_THROW(log.info("two"));
  log.info("three");
  EXPECT_EQ(calls, 3);
}

TEST(Log, ThreadsTakeTurns) {
  constexpr int kThreads = 4;
  constexpr int kMessages = 500;
  std::atomic<int> inside = 0;
  bool met = false;
  std::string text;  // unprotected: the log's promise is what keeps this free of races
  Log log(LogLevel::debug, [&](LogLevel, std::string_view message) {
    met = met || inside.fetch_add(1) != 0;
    for (char c : message) text += c;
    std::this_thread::yield();
    text += '\n';
    inside.fetch_sub(1);
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&log, t] {
      for (int i = 0; i < kMessages; ++i) log.info("{}{}{}{}", t, t, t, t);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(met);
  ASSERT_EQ(text.size(), std::size_t{kThreads * kMessages * 5});
  for (std::size_t i = 0; i < text.size(); i += 5) {
    ASSERT_EQ(text.substr(i, 5), std::string(4, text[i]) + "\n");
  }
}

}  // namespace
}  // namespace gpuforge
