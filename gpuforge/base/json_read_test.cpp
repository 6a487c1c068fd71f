// Reading JSON text: what is right is read exactly, what is wrong is refused with its place, nothing crashes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "gpuforge/base/error.h"
#include "gpuforge/base/json.h"

namespace gpuforge {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string parse_failure(std::string_view text, std::string_view what = "JSON") {
  try {
    Json::parse(text, what);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::parse);
    return error.message();
  }
  return "no failure";
}

const char* const kDocument = R"({
  "name": "caf\u00e9 \ud83d\ude00 \"quoted\" \\ \/ \b\f\n\r\t",
  "numbers": [0, -0.0, 1, -1, 9223372036854775807, -9223372036854775808, 0.1, 1e-300, 2.5E+3],
  "nested": {"deep": [[[]], {}, {"": null}], "yes": true, "no": false},
  "last": ""
})";

TEST(JsonParse, ReadsADocumentAndWritesItBack) {
  const Json json = Json::parse(kDocument);
  EXPECT_EQ(json.at("name").as_string(), "caf\xc3\xa9 \xf0\x9f\x98\x80 \"quoted\" \\ / \b\f\n\r\t");
  EXPECT_EQ(json.at("numbers").as_array()[4].as_integer(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(json.at("numbers").as_array()[5].as_integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(json.at("numbers").as_array()[8].as_double(), 2500.0);
  EXPECT_TRUE(json.at("nested").at("deep").as_array()[2].at("").is_null());
  for (int indent : {-1, 0, 2, 7}) EXPECT_EQ(Json::parse(json.dump(indent)), json);
}

TEST(JsonParse, ScalarsStandAlone) {
  EXPECT_TRUE(Json::parse(" null ").is_null());
  EXPECT_EQ(Json::parse("-12").as_integer(), -12);
  EXPECT_EQ(Json::parse("\"\\u0000\"").as_string(), std::string(1, '\0'));
  EXPECT_EQ(Json::parse("\xef\xbb\xbf[]"), Json::array());  // a byte order mark
}

TEST(JsonParse, LargeIntegersBecomeDoubles) {
  EXPECT_FALSE(Json::parse("9223372036854775808").is_integer());
  EXPECT_EQ(Json::parse("9223372036854775808").as_double(), 0x1p63);
  EXPECT_EQ(Json::parse("18446744073709551615").as_double(), 0x1p64);
  EXPECT_EQ(Json::parse("18446744073709551616").as_double(), 0x1p64);
  EXPECT_EQ(Json::parse("-9223372036854775809").as_double(), -0x1p63);
  EXPECT_EQ(Json::parse("1" + std::string(300, '0')).as_double(), 1e300);
  EXPECT_EQ(Json::parse("1e-999").as_double(), 0.0);
}

TEST(JsonParse, TheLastOfEqualKeysWins) {
  EXPECT_EQ(Json::parse(R"({"a":1,"b":2,"a":3,"c":{"x":1,"x":2},"a":4})").dump(),
            R"({"a":4,"b":2,"c":{"x":2}})");
}

TEST(JsonParse, ManyKeysTakeNoLongerThanTheyShould) {
  std::string text = "{";
  constexpr int kKeys = 100000;
  for (int i = 0; i < kKeys; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  text += "\"k0\":1}";
  const Json json = Json::parse(text);
  EXPECT_EQ(json.as_object().size(), std::size_t{kKeys});
  EXPECT_EQ(json.as_object().front().second.as_integer(), 1);
}

TEST(JsonParse, ErrorsSayWhere) {
  EXPECT_THAT(parse_failure("{\"a\": 1,\n \"b\": x}", "table.json"),
              StartsWith("table.json: line 2, column 7: "));
  EXPECT_THAT(parse_failure("[1,]"), StartsWith("JSON: line 1, column 4: "));
  EXPECT_THAT(parse_failure("[1]\n\n2"), StartsWith("JSON: line 3, column 1: "));
  EXPECT_THAT(parse_failure(""), StartsWith("JSON: line 1, column 1: "));
  EXPECT_THAT(parse_failure("[1, 1e400]"), HasSubstr("line 1"));
  EXPECT_THAT(parse_failure("[1, 1e400]"), HasSubstr("number overflow"));
  EXPECT_THAT(parse_failure("[tru]"), testing::Not(HasSubstr("json.exception")));
}

TEST(JsonParse, AMessageStaysShortAndReadable) {
  const std::string message = parse_failure("[\"" + std::string(1 << 20, 'x'));
  EXPECT_LT(message.size(), 400u);
  const std::string broken = parse_failure("[\"\xff\xfe\"]");
  EXPECT_THAT(broken, StartsWith("JSON: line 1, column 3: "));
  EXPECT_EQ(broken.find('\xfe'), std::string::npos);
}

TEST(JsonParse, RefusesWhatIsNotJson) {
  const char* const texts[] = {"",
                               " ",
                               "nul",
                               "True",
                               "NaN",
                               "Infinity",
                               "-",
                               "+1",
                               "01",
                               "1.",
                               ".5",
                               "1e",
                               "0x10",
                               "1 2",
                               "[",
                               "]",
                               "{",
                               "}",
                               "[1,]",
                               "{,}",
                               "{\"a\"}",
                               "{a:1}",
                               "{\"a\":}",
                               "{1:2}",
                               "[1 2]",
                               "'a'",
                               "\"",
                               "\"\\x\"",
                               "\"\\u12\"",
                               "// c\n1",
                               "[1]]",
                               "{\"a\":1,}",
                               "\"\t\"",
                               "\"a\nb\"",
                               "\"\\ud800\"",
                               "\"\\udc00\"",
                               "\"\\ud800\\u0041\"",
                               "\"\xc0\xaf\"",
                               "\"\xed\xa0\x80\"",
                               "\"\xf5\x80\x80\x80\"",
                               "\xff",
                               "\xef\xbb",
                               "1e400",
                               "-1e400"};
  for (const char* text : texts) EXPECT_NE(parse_failure(text), "no failure") << text;
  EXPECT_NE(parse_failure(std::string_view("\0", 1)), "no failure");
  EXPECT_EQ(parse_failure(std::string_view("[1]\n\0 [2]", 9)),
            "JSON: line 2, column 1: a NUL byte, which JSON text cannot hold");
  EXPECT_NE(parse_failure(std::string_view("\"a\0b\"", 5)), "no failure");
}

TEST(JsonParse, NestingHasALimit) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(Json::parse(nested(200)).dump(), nested(200));
  EXPECT_THAT(parse_failure(nested(201)), HasSubstr("nested deeper than 200"));
  EXPECT_THAT(parse_failure(std::string(5000000, '[')), HasSubstr("nested deeper than 200"));
  std::string objects;
  for (int i = 0; i < 1000; ++i) objects += "{\"a\":";
  EXPECT_THAT(parse_failure(objects), HasSubstr("nested deeper than 200"));
}

TEST(JsonParse, EveryTruncationIsRefused) {
  const std::string text = kDocument;
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_NE(parse_failure(std::string_view(text.data(), size)), "no failure") << size;
  }
}

// Broken text gives an Error; text that happens to stay good survives writing and reading.
TEST(JsonParse, MutatedTextNeverDoesMore) {
  const std::string original = kDocument;
  constexpr char kAlphabet[] = "{}[]\",:0123456789.eE+-\\u trufalsn\0\x80\xff\n";
  const std::string_view alphabet(kAlphabet, sizeof(kAlphabet) - 1);
  std::mt19937 random(12345);
  const auto below = [&random](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 8000; ++round) {
    std::string text = original;
    for (std::size_t edits = 1 + below(4); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = below(text.size());
      switch (below(5)) {
        case 0:
          text[at] = alphabet[below(alphabet.size())];
          break;
        case 1:
          text.erase(at, 1 + below(8));
          break;
        case 2:
          text.insert(at, 1, alphabet[below(alphabet.size())]);
          break;
        case 3:
          text.insert(at, text.substr(below(text.size()), below(40)));
          break;
        default:
          text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
          break;
      }
    }
    try {
      const Json json = Json::parse(text);
      ASSERT_EQ(Json::parse(json.dump()), json) << text;
      ++accepted;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::parse) << text;
      ++refused;
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace gpuforge
