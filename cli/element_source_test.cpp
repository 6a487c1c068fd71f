#include "cli/element_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "gpuforge/base/convert.h"
#include "gpuforge/base/error.h"

namespace gpuforge::cli {
namespace {

std::vector<double> values(const std::string& text, std::uint64_t seed = 1) {
  const LaunchArgument argument = parse_launch_argument(text, 0);
  std::vector<std::byte> bytes(argument.bytes());
  fill_elements(argument, seed, 0, bytes);
  std::vector<double> out;
  const std::size_t width = element_bytes(*argument.dtype);
  for (std::size_t at = 0; at < bytes.size(); at += width)
    out.push_back(load_double(&bytes[at], *argument.dtype));
  return out;
}

TEST(ElementSource, FillsEveryKind) {
  EXPECT_EQ(values("in:f32[3]=zeros"), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(values("in:f16[2]=1.5"), (std::vector<double>{1.5, 1.5}));
  EXPECT_EQ(values("in:i8[4]=arange"), (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(values("in:u8[5]=hex:00ff.."), (std::vector<double>{0, 255, 0, 255, 0}));
  EXPECT_EQ(values("in:i64=[7,-7]"), (std::vector<double>{7, -7}));
  EXPECT_TRUE(values("in:f32[0]=random").empty());
}

TEST(ElementSource, RandomStaysInItsRangeAndFollowsTheSeed) {
  for (DType dtype : kAllDTypes) {
    const auto got = values(format_text("in:{}[4096]=random", name(dtype)));
    const double highest = is_floating(dtype) ? 1 : is_integer(dtype) ? 100 : 2;
    for (double value : got) {
      ASSERT_GE(value, 0) << name(dtype);
      ASSERT_LT(value, highest) << name(dtype);
    }
  }
  EXPECT_EQ(values("in:f32[64]=random", 5), values("in:f32[64]=random", 5));
  EXPECT_NE(values("in:f32[64]=random", 5), values("in:f32[64]=random", 6));
}

TEST(ElementSource, RandomAndNormalHaveTheRightMoments) {
  const auto moments = [](const std::vector<double>& all) {
    double sum = 0;
    double squares = 0;
    for (double value : all) {
      sum += value;
      squares += value * value;
    }
    const double count = static_cast<double>(all.size());
    const double mean = sum / count;
    return std::pair(mean, squares / count - mean * mean);
  };
  const auto [mean, variance] = moments(values("in:f64[100000]=normal"));
  EXPECT_NEAR(mean, 0, 0.02);
  EXPECT_NEAR(variance, 1, 0.03);
  const auto [middle, spread] = moments(values("in:f64[100000]=random"));
  EXPECT_NEAR(middle, 0.5, 0.01);
  EXPECT_NEAR(spread, 1.0 / 12, 0.005);
}

TEST(ElementSource, PiecesMakeTheSameArray) {
  for (const char* text :
       {"in:f32[100]=random", "in:f64[100]=normal", "in:i16[100]=arange", "in:u8[100]=hex:010203.."}) {
    const LaunchArgument argument = parse_launch_argument(text, 0);
    const std::size_t width = element_bytes(*argument.dtype);
    std::vector<std::byte> whole(argument.bytes());
    fill_elements(argument, 9, 0, whole);
    std::vector<std::byte> pieces(argument.bytes());
    for (std::size_t i = 0; i < 100; i += 7) {
      const std::size_t count = std::min<std::size_t>(7, 100 - i);
      fill_elements(argument, 9, static_cast<std::int64_t>(i),
                    std::span(pieces).subspan(i * width, count * width));
    }
    EXPECT_EQ(whole, pieces) << text;
  }
}

TEST(ElementSource, ThreadsMakeTheSameArray) {
  for (const char* text : {"in:f32[1048583]=random", "in:f16[2097169]=normal", "in:i64[524291]=arange"}) {
    const LaunchArgument argument = parse_launch_argument(text, 0);
    const std::size_t width = element_bytes(*argument.dtype);
    std::vector<std::byte> whole(argument.bytes());  // several MiB: split between threads
    fill_elements(argument, 9, 0, whole);
    for (std::size_t at : {std::size_t{0}, whole.size() / width / 2, whole.size() / width - 3}) {
      std::vector<std::byte> piece(3 * width);
      fill_elements(argument, 9, static_cast<std::int64_t>(at), piece);
      EXPECT_EQ(std::memcmp(piece.data(), whole.data() + at * width, piece.size()), 0) << text << " " << at;
    }
  }
}

TEST(ElementSource, AnOutputHasNothingToFillWith) {
  const LaunchArgument argument = parse_launch_argument("out:f32[4]", 0);
  std::vector<std::byte> bytes(16);
  EXPECT_THROW(fill_elements(argument, 1, 0, bytes), Error);
}

TEST(ElementSource, ArangeRefusesWhatTheTypeCannotHold) {
  EXPECT_NO_THROW(values("in:i8[128]=arange"));
  EXPECT_THROW(values("in:i8[129]=arange"), Error);
  EXPECT_THROW(values("in:u8[257]=arange"), Error);
}

std::vector<std::byte> poisoned(DType dtype, std::size_t count) {
  const Poison mark = poison(dtype);
  std::vector<std::byte> bytes(element_bytes(dtype) * count);
  for (std::size_t at = 0; at < bytes.size(); at += mark.pattern_bytes) {
    std::memcpy(&bytes[at], &mark.pattern, mark.pattern_bytes);
  }
  return bytes;
}

TEST(OutputScan, FloatPoisonIsNaN) {
  for (DType dtype : kAllDTypes) {
    if (!is_floating(dtype)) continue;
    const auto bytes = poisoned(dtype, 2);
    EXPECT_TRUE(std::isnan(load_double(bytes.data(), dtype))) << name(dtype);
    EXPECT_TRUE(std::isnan(load_double(bytes.data() + element_bytes(dtype), dtype))) << name(dtype);
  }
}

TEST(OutputScan, FindsWhatWasNeverWritten) {
  for (DType dtype : kAllDTypes) {
    const std::size_t width = element_bytes(dtype);
    auto bytes = poisoned(dtype, 16);
    OutputScan untouched(dtype);
    untouched.add(bytes);
    EXPECT_EQ(untouched.unwritten(), 16) << name(dtype);
    for (std::size_t i = 0; i < 11; ++i) store_double(&bytes[i * width], dtype, 1);
    OutputScan tail(dtype);
    tail.add(std::span(bytes).first(13 * width));  // a run over two pieces
    tail.add(std::span(bytes).subspan(13 * width));
    EXPECT_EQ(tail.unwritten(), 5) << name(dtype);
    EXPECT_EQ(tail.first_unwritten(), 11) << name(dtype);
    EXPECT_EQ(tail.elements(), 16);
    EXPECT_FALSE(tail.all_zero());
  }
}

TEST(OutputScan, ASingleWideElementCountsANarrowOneMayBeChance) {
  for (DType dtype : {DType::f32, DType::i32, DType::f64, DType::i64, DType::boolean}) {
    auto bytes = poisoned(dtype, 3);
    store_double(bytes.data(), dtype, 1);
    store_double(bytes.data() + element_bytes(dtype), dtype, 1);
    OutputScan scan(dtype);
    scan.add(bytes);
    EXPECT_EQ(scan.unwritten(), 1) << name(dtype);
  }
  std::vector<std::byte> bytes(256);
  for (std::size_t i = 0; i < 256; ++i) bytes[i] = static_cast<std::byte>(i);  // 0xa5 among all others
  OutputScan scan(DType::u8);
  scan.add(bytes);
  EXPECT_EQ(scan.unwritten(), 0);
}

TEST(OutputScan, TellsAllZero) {
  OutputScan zeros(DType::f32);
  zeros.add(std::vector<std::byte>(8));
  EXPECT_TRUE(zeros.all_zero());
  EXPECT_EQ(zeros.unwritten(), 0);
  OutputScan nothing(DType::f32);
  EXPECT_FALSE(nothing.all_zero());
  EXPECT_EQ(nothing.unwritten(), 0);
}

}  // namespace
}  // namespace gpuforge::cli
