#include "gpuforge/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "gpuforge/base/error.h"

namespace gpuforge {
namespace {

using testing::HasSubstr;

TEST(JsonDump, KeepsTheOrderOfKeys) {
  const Json json = Json::object()
                        .set("zebra", 1)
                        .set("apple", Json::array().push_back(true).push_back(nullptr).push_back("x"))
                        .set("empty", Json::object());
  EXPECT_EQ(json.dump(), R"({"zebra":1,"apple":[true,null,"x"],"empty":{}})");
  EXPECT_EQ(json.dump(2),
            "{\n  \"zebra\": 1,\n  \"apple\": [\n    true,\n    null,\n    \"x\"\n  ],\n  \"empty\": {}\n}");
  EXPECT_EQ(Json::array().push_back(1).push_back(2).dump(0), "[\n1,\n2\n]");
}

TEST(JsonDump, Numbers) {
  EXPECT_EQ(Json(std::numeric_limits<std::int64_t>::min()).dump(), "-9223372036854775808");
  EXPECT_EQ(Json(std::uint64_t{1} << 62).dump(), "4611686018427387904");
  EXPECT_EQ(Json(std::numeric_limits<std::uint64_t>::max()).dump(), "18446744073709551616.0");
  EXPECT_EQ(Json(4000000000u).dump(), "4000000000");
  EXPECT_EQ(Json(0.1).dump(), "0.1");
  EXPECT_EQ(Json(1.0).dump(), "1.0");
  EXPECT_EQ(Json(-0.0).dump(), "-0.0");
  EXPECT_EQ(Json(1e300).dump(), "1e+300");
  EXPECT_EQ(Json(5e-324).dump(), "5e-324");
}

TEST(JsonDump, NumbersThatJsonLacksAreStrings) {
  EXPECT_EQ(Json(std::nan("")).dump(), R"("NaN")");
  EXPECT_EQ(Json(-std::nan("")).dump(), R"("NaN")");
  EXPECT_EQ(Json(HUGE_VAL).dump(), R"("Infinity")");
  EXPECT_EQ(Json(-HUGE_VAL).dump(), R"("-Infinity")");
}

TEST(JsonDump, EscapesAndRepairsText) {
  EXPECT_EQ(Json("q\" b\\ / \b\f\n\r\t").dump(), R"("q\" b\\ / \b\f\n\r\t")");
  EXPECT_EQ(Json(std::string_view("\0\x01\x1f\x7f", 4)).dump(), "\"\\u0000\\u0001\\u001f\x7f\"");
  EXPECT_EQ(Json("caf\xc3\xa9 \xf0\x9f\x98\x80").dump(), "\"caf\xc3\xa9 \xf0\x9f\x98\x80\"");
  EXPECT_EQ(Json("bad \xff\xc3 end").dump(), "\"bad \xef\xbf\xbd\xef\xbf\xbd end\"");
  EXPECT_EQ(Json::object().set("\xff\n", 1).dump(), "{\"\xef\xbf\xbd\\n\":1}");
}

TEST(JsonDump, EveryDoubleReadsBackToItself) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 50000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    const Json back = Json::parse(Json(value).dump());
    ASSERT_FALSE(back.is_integer());
    ASSERT_EQ(std::bit_cast<std::uint64_t>(back.as_double()), std::bit_cast<std::uint64_t>(value));
  }
}

template <typename F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::parse);
    return error.message();
  }
  return "nothing was thrown";
}

TEST(JsonAccess, TheRightKindIsGiven) {
  EXPECT_TRUE(Json().is_null());
  EXPECT_TRUE(Json(true).as_bool());
  EXPECT_EQ(Json(7).as_integer(), 7);
  EXPECT_EQ(Json(7).as_double(), 7.0);
  EXPECT_EQ(Json(2.5).as_double(), 2.5);
  EXPECT_EQ(Json("s").as_string(), "s");
  EXPECT_EQ(Json(Json::Array{1, 2}).as_array().size(), 2u);
  EXPECT_EQ(Json::object().set("a", 1).as_object().front().first, "a");
}

TEST(JsonAccess, AnotherKindIsAnErrorThatNamesBoth) {
  EXPECT_EQ(message_of([] { Json("x").as_integer(); }),
            "JSON: expected an integer of 64 bits, found a string");
  EXPECT_THAT(message_of([] { Json(1.5).as_integer(); }), HasSubstr("found a number with a fraction"));
  EXPECT_THAT(message_of([] { Json(true).as_double(); }), HasSubstr("expected a number, found a boolean"));
  EXPECT_THAT(message_of([] { Json(1).as_bool(); }), HasSubstr("expected a boolean, found an integer"));
  EXPECT_THAT(message_of([] { Json().as_string(); }), HasSubstr("expected a string, found null"));
  EXPECT_THAT(message_of([] { Json::object().as_array(); }), HasSubstr("expected an array, found an object"));
  EXPECT_THAT(message_of([] { Json::array().as_object(); }), HasSubstr("expected an object, found an array"));
  EXPECT_THAT(message_of([] { Json::array().find("k"); }), HasSubstr("expected an object"));
  EXPECT_THAT(message_of([] { Json(1).set("k", 1); }), HasSubstr("expected an object"));
  EXPECT_THAT(message_of([] { Json().push_back(1); }), HasSubstr("expected an array, found null"));
}

TEST(JsonAccess, Members) {
  Json json = Json::object().set("a", 1).set("b", 2);
  EXPECT_EQ(json.find("c"), nullptr);
  EXPECT_EQ(json.at("b").as_integer(), 2);
  json.set("a", "new");
  EXPECT_EQ(json.dump(), R"({"a":"new","b":2})");
  EXPECT_THAT(message_of([&] { json.at("key with spaces"); }), HasSubstr("'key with spaces'"));
}

TEST(JsonEquality, IsOfValueKindAndOrder) {
  EXPECT_EQ(Json::parse("[1,{\"a\":null}]"), Json::parse(" [ 1 , { \"a\" : null } ] "));
  EXPECT_NE(Json(1), Json(1.0));
  EXPECT_NE(Json(), Json(false));
  EXPECT_NE(Json::object(), Json::array());
  EXPECT_NE(Json::parse(R"({"a":1,"b":2})"), Json::parse(R"({"b":2,"a":1})"));
}

}  // namespace
}  // namespace gpuforge
