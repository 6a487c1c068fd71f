#include "gpuforge/base/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "gpuforge/base/error.h"

namespace gpuforge {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string complaint(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::parse);
    return std::string(error.message());
  }
  return "nothing was thrown";
}

std::string complaint(const std::string& text) {
  return complaint([&] { Yaml::parse(text, "f.yaml"); });
}

TEST(YamlValue, IsATreeWithLines) {
  const Yaml root = Yaml::parse(
      "# head\nname: x  # why\nshape: [4, -8]\ndeep:\n  half: 0.5\n  yes: true\nnone:\n", "f.yaml");
  EXPECT_EQ(root.at("name").text(), "x");
  EXPECT_EQ(root.at("name").where(), "f.yaml:2");
  EXPECT_EQ(root.at("shape").list()[1].integer(), -8);
  EXPECT_EQ(root.at("deep").at("half").number(), 0.5);
  EXPECT_TRUE(root.at("deep").at("yes").boolean());
  EXPECT_EQ(root.at("deep").at("yes").line(), 6);
  EXPECT_TRUE(root.at("none").is_null());
  EXPECT_EQ(root.at("none").line(), 7);
  EXPECT_EQ(root.find("other"), nullptr);
  EXPECT_EQ(root.map()[1].first.text(), "shape");
  EXPECT_EQ(root.map()[1].first.line(), 3);
}

TEST(YamlValue, ANumberStaysText) {
  EXPECT_EQ(Yaml::parse("- 007\n", "f").list()[0].text(), "007");
  EXPECT_EQ(Yaml::parse("- '7'\n", "f").list()[0].integer(), 7);
  EXPECT_EQ(Yaml::parse("- 1e3\n", "f").list()[0].number(), 1000);
}

TEST(YamlValue, OfNothingIsNull) {
  EXPECT_TRUE(Yaml::parse("", "f").is_null());
  EXPECT_TRUE(Yaml::parse("# only words\n", "f").is_null());
  EXPECT_TRUE(Yaml().is_null());
}

TEST(YamlValue, LinesCountFromWhereTheTextWasCut) {
  const Yaml root = Yaml::parse("a: 1\nb: x\n", "k.cu", 12);
  EXPECT_EQ(complaint([&] { root.at("b").integer(); }), "k.cu:13: expected a whole number; found 'x'");
  EXPECT_THAT(complaint([&] { Yaml::parse("a: [\n", "k.cu", 12); }), StartsWith("k.cu:1"));
}

TEST(YamlValue, SaysWhatItExpected) {
  const Yaml root = Yaml::parse("word: x\nlist: [1]\nmap: {a: 1}\nnone:\n", "f.yaml");
  EXPECT_EQ(complaint([&] { root.at("word").list(); }), "f.yaml:1: expected a list; found 'x'");
  EXPECT_EQ(complaint([&] { root.at("list").text(); }), "f.yaml:2: expected one plain value; found a list");
  EXPECT_EQ(complaint([&] { root.at("map").number(); }),
            "f.yaml:3: expected a number; found keys and values");
  EXPECT_EQ(complaint([&] { root.at("none").boolean(); }), "f.yaml:4: expected true or false; found nothing");
  EXPECT_EQ(complaint([&] { root.at("shape"); }), "f.yaml:1: expected the key 'shape'");
  EXPECT_EQ(complaint([&] { root.at("word").find("x"); }),
            "f.yaml:1: expected lines of the form `key: value`; found 'x'");
  EXPECT_EQ(complaint([&] {
              root.allow_keys({"word", "lists", "map", "none"});
            }),
            "f.yaml:2: unknown key 'list'; did you mean 'lists'? (known: word, lists, map, none)");
  for (const char* text : {"- 1.5", "- 99999999999999999999", "- ''", "- 0x10", "- 1 2"}) {
    EXPECT_THAT(complaint([&] { Yaml::parse(text, "f").list()[0].integer(); }), HasSubstr("a whole number"))
        << text;
  }
}

TEST(YamlValue, RefusesWhatIsNotOneDocument) {
  EXPECT_THAT(complaint("a: [\n"), StartsWith("f.yaml:"));
  EXPECT_THAT(complaint("a: b: c\n"), StartsWith("f.yaml:1: "));
  EXPECT_EQ(complaint("a: 1\nb: 2\na: 3\n"), "f.yaml:3: 'a' is set twice");
  EXPECT_EQ(complaint("? [1, 2]\n: 3\n"), "f.yaml:1: expected a plain word as the key");
  EXPECT_THAT(complaint("a: 1\n---\nb: 2\n"), HasSubstr("one document"));
  EXPECT_THAT(complaint("a: *nowhere\n"), StartsWith("f.yaml:1: "));
}

TEST(YamlValue, SurvivesTreesThatWouldNotEnd) {
  EXPECT_THAT(complaint("a: &a [*a]\n"), HasSubstr("nested deeper"));
  EXPECT_THAT(complaint(std::string(100, '[') + std::string(100, ']')), HasSubstr("deep"));
  EXPECT_THAT(complaint(std::string(100'000, '[')), StartsWith("f.yaml:1: "));
  std::string bomb = "a0: &a0 [1]\n";
  for (int i = 1; i < 30; ++i) bomb += format_text("a{0}: &a{0} [*a{1}, *a{1}]\n", i, i - 1);
  EXPECT_THAT(complaint(bomb), HasSubstr("more than 100000 values"));
  // yaml-cpp's own reader of all documents finds them in these for ever.
  EXPECT_EQ(complaint(", a: 1\n"), "f.yaml:1: this cannot begin a value");
  EXPECT_EQ(complaint("\n  ,\n"), "f.yaml:2: this cannot begin a value");
}

}  // namespace
}  // namespace gpuforge
