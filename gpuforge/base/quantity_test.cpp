#include "gpuforge/base/quantity.h"

#include <gtest/gtest.h>

#include "gpuforge/base/error.h"

namespace gpuforge {
namespace {

TEST(Quantity, ReadsCounts) {
  EXPECT_EQ(parse_count("0"), 0);
  EXPECT_EQ(parse_count("1024"), 1024);
  EXPECT_EQ(parse_count("0x400"), 1024);
  EXPECT_EQ(parse_count("2^20"), 1 << 20);
  EXPECT_EQ(parse_count("2^62"), std::int64_t{1} << 62);
  EXPECT_EQ(parse_count("0^5"), 0);
  EXPECT_EQ(parse_count("1e6"), 1000000);
  EXPECT_EQ(parse_count("1.5e3"), 1500);
  EXPECT_EQ(parse_count("64Ki"), 65536);
  EXPECT_EQ(parse_count("2Gi"), std::int64_t{1} << 31);
  EXPECT_EQ(parse_count("9223372036854775807"), 9223372036854775807);
}

TEST(Quantity, RefusesWhatIsNoCount) {
  for (const char* text : {"",
                           "-1",
                           "+1",
                           "x",
                           "1x",
                           "1.5",
                           "1.5e0",
                           "2^63",
                           "2^",
                           "^2",
                           "2^-1",
                           "10^19",
                           "9223372036854775808",
                           "1e19",
                           "1e400",
                           "nan",
                           "inf",
                           "0x",
                           "0x-1",
                           "Ki",
                           "9000000000Gi",
                           " 1",
                           "1 "}) {
    EXPECT_FALSE(parse_count(text).has_value()) << text;
  }
}

TEST(Quantity, ReadsByteSizes) {
  EXPECT_EQ(parse_byte_size("0"), 0u);
  EXPECT_EQ(parse_byte_size("512MiB"), 512u << 20);
  EXPECT_EQ(parse_byte_size("1GiB"), 1u << 30);
  EXPECT_EQ(parse_byte_size("1.5GiB"), 3u << 29);
  EXPECT_EQ(parse_byte_size("500MB"), 500000000u);
  EXPECT_EQ(parse_byte_size("64K"), 65536u);
  EXPECT_EQ(parse_byte_size("17B"), 17u);
  EXPECT_EQ(parse_byte_size("2 GiB"), 2147483648u);
  for (const char* text : {"", "GiB", "-1", "-1GiB", "1XiB", "nan", "inf", "1e300", "9.3e18", "1 2", "+5",
                           "lots", "1e30GiB", "99999999TiB", "nanGiB", "1,5GiB"}) {
    EXPECT_FALSE(parse_byte_size(text).has_value()) << text;
  }
}

TEST(Quantity, ShowsBytesAndTimes) {
  EXPECT_EQ(show_bytes(0), "0 B");
  EXPECT_EQ(show_bytes(1023), "1023 B");
  EXPECT_EQ(show_bytes(1536), "1.5 KiB");
  EXPECT_EQ(show_bytes((std::uint64_t{1} << 20) - 1), "1.0 MiB");
  EXPECT_EQ(show_bytes(std::uint64_t{1} << 30), "1.0 GiB");
  EXPECT_EQ(show_ms(0.0123), "0.012 ms");
  EXPECT_EQ(show_ms(85.06), "85.1 ms");
  EXPECT_EQ(show_ms(1234), "1.23 s");
  EXPECT_EQ(show_us(999), "999 us");
  EXPECT_EQ(show_us(1200), "1.20 ms");
  EXPECT_EQ(show_us(2.5e6), "2.50 s");
  EXPECT_EQ(show_us(-18750), "-18.75 ms");
}

TEST(Quantity, ReadsTimes) {
  EXPECT_EQ(parse_duration_us("0"), 0.0);
  EXPECT_EQ(parse_duration_us("200us"), 200.0);
  EXPECT_EQ(parse_duration_us("1.5ms"), 1500.0);
  EXPECT_EQ(parse_duration_us("2s"), 2e6);
  EXPECT_EQ(parse_duration_us("500ns"), 0.5);
  for (const char* text : {"", "5", "-1ms", "ms", "nans", "infs", "1e9s", "1 m"})
    EXPECT_EQ(parse_duration_us(text), std::nullopt) << text;
}

TEST(Quantity, RequiresARange) {
  EXPECT_EQ(require_count("--n", "7", 1, 10), 7);
  for (const char* text : {"0", "11", "x", ""}) {
    try {
      require_count("--n", text, 1, 10);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), format_text("--n is a whole number from 1 to 10, but '{}' was given", text));
    }
  }
}

}  // namespace
}  // namespace gpuforge
