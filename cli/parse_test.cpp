#include "cli/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/base/error.h"

namespace gpuforge::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kColors[] = {"red", "green"};
constexpr Option kOptions[] = {
    {.name = "size", .short_name = 's', .value = "N", .help = "a size"},
    {.name = "define", .short_name = 'D', .value = "X", .help = "a macro", .repeatable = true},
    {.name = "paint", .value = "COLOR", .help = "a colour", .values = kColors, .only_values = true},
    {.name = "fast", .short_name = 'f', .help = "a switch"},
    {.name = "limit", .value = "PCT", .help = "a value or none", .value_optional = true},
};
constexpr Positional kPositionals[] = {{.name = "FILE", .required = true, .repeatable = true}};
constexpr std::string_view kActions[] = {"list", "clear"};
constexpr Positional kActionPositionals[] = {{.name = "ACTION", .values = kActions, .only_values = true}};
constexpr std::string_view kAliases[] = {"mk"};
constexpr Command kMake = {
    .name = "make", .aliases = kAliases, .positionals = kPositionals, .options = kOptions};
constexpr Command kStore = {.name = "store", .positionals = kActionPositionals};
constexpr Command kSecret = {.name = "secret", .hidden = true};
constexpr const Command* kCommands[] = {&kMake, &kStore, &kSecret};

Invocation parse(std::vector<std::string> arguments) {
  return parse_command_line(arguments, kCommands);
}

std::string complaint(std::vector<std::string> arguments) {
  try {
    parse(std::move(arguments));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(Parse, TakesValuesInEveryForm) {
  const Invocation got =
      parse({"make", "--size=3", "-DA", "-D", "B=1", "-D=C", "a.cu", "--paint", "red", "b.cu"});
  EXPECT_EQ(got.command, &kMake);
  EXPECT_EQ(got.value("size"), "3");
  EXPECT_THAT(got.values("define"), ElementsAre("A", "B=1", "C"));
  EXPECT_EQ(got.value("paint"), "red");
  EXPECT_THAT(got.positionals, ElementsAre("a.cu", "b.cu"));
  EXPECT_FALSE(got.has("fast"));
  EXPECT_FALSE(got.value("nothing").has_value());
}

TEST(Parse, JoinsShortSwitches) {
  const Invocation got = parse({"make", "-qfs", "7", "x"});
  EXPECT_TRUE(got.has("quiet"));
  EXPECT_TRUE(got.has("fast"));
  EXPECT_EQ(got.value("size"), "7");
  EXPECT_EQ(parse({"make", "-fs7", "x"}).value("size"), "7");
}

TEST(Parse, TwoDashesEndTheOptions) {
  const Invocation got = parse({"make", "--", "--size", "-h", "--help"});
  EXPECT_THAT(got.positionals, ElementsAre("--size", "-h", "--help"));
  EXPECT_FALSE(got.help);
}

TEST(Parse, ALoneDashIsAnArgument) {
  EXPECT_THAT(parse({"make", "-"}).positionals, ElementsAre("-"));
}

TEST(Parse, NegativeNumbersAndEmptyTextsAreValues) {
  EXPECT_EQ(parse({"make", "--size", "-5", "x"}).value("size"), "-5");
  EXPECT_EQ(parse({"make", "--size", "", "x"}).value("size"), "");
  EXPECT_EQ(parse({"make", "--size=", "x"}).value("size"), "");
  EXPECT_EQ(parse({"make", "--size=--fast", "x"}).value("size"), "--fast");
}

TEST(Parse, HelpWinsAnywhere) {
  for (const auto& line : std::vector<std::vector<std::string>>{{"make", "--help"},
                                                                {"--help", "make"},
                                                                {"make", "--nonsense", "-h"},
                                                                {"-d", "cpu", "mk", "--help"}}) {
    const Invocation got = parse(line);
    EXPECT_TRUE(got.help);
    EXPECT_EQ(got.command, &kMake);
  }
  EXPECT_EQ(parse({"--help"}).command, nullptr);
  EXPECT_EQ(parse({"make", "--help", "--color", "never"}).value("color"), "never");
  EXPECT_EQ(parse({"--color=always", "make", "-h"}).value("color"), "always");
}

TEST(Parse, CommonOptionsMayStandBeforeTheVerbAndAreOverridden) {
  const Invocation got = parse({"--device", "cpu", "--json", "store", "--device", "sim"});
  EXPECT_EQ(got.value("device"), "sim");
  EXPECT_TRUE(got.has("json"));
}

constexpr std::string_view kWraps[] = {"tool"};
constexpr std::string_view kOurs[] = {"fast", "size"};
constexpr Option kWrapOptions[] = {{.name = "fast"}, {.name = "size", .value = "N"}, {.name = "slow"}};
constexpr Positional kWrapPositionals[] = {{.name = "WITH", .required = true}, {.name = "FILE"}};
constexpr Command kWrap = {.name = "wrap",
                           .positionals = kWrapPositionals,
                           .options = kWrapOptions,
                           .passing_after = kWraps,
                           .passing_options = kOurs};

Invocation wrap_line(const std::vector<std::string>& arguments) {
  constexpr const Command* kOnlyWrap[] = {&kWrap};
  return parse_command_line(arguments, kOnlyWrap);
}

TEST(Parse, WhatAnotherProgramIsToGetIsKeptInOrder) {
  const Invocation got =
      wrap_line({"--json", "wrap", "tool", "--set", "full", "-c", "3", "--size", "4", "--slow",
                 "--device=all", "--fast", "x", "--", "run", "--fast", "--", "y"});
  EXPECT_EQ(got.positionals, (std::vector<std::string>{"tool"}));
  EXPECT_EQ(got.passed,
            (std::vector<std::string>{"--set", "full", "-c", "3", "--slow", "--device=all", "x"}));
  EXPECT_EQ(got.behind, (std::vector<std::string>{"run", "--fast", "--", "y"}));
  EXPECT_TRUE(got.has("fast"));
  EXPECT_TRUE(got.has("json"));
  EXPECT_FALSE(got.has("slow"));
  EXPECT_EQ(got.value("size"), "4");
}

TEST(Parse, OtherPartsOfSuchAVerbAreReadAsUsual) {
  const Invocation got = wrap_line({"wrap", "plain", "--slow", "file"});
  EXPECT_TRUE(got.has("slow"));
  EXPECT_EQ(got.positionals, (std::vector<std::string>{"plain", "file"}));
  EXPECT_TRUE(got.passed.empty());
  EXPECT_THROW(wrap_line({"wrap", "plain", "--set", "full"}), Error);
  EXPECT_THROW(wrap_line({"wrap", "tool", "--size", "--", "run"}), Error);
}

TEST(Parse, NothingAtAllIsNoVerb) {
  EXPECT_EQ(parse({}).command, nullptr);
  EXPECT_TRUE(parse({"--version"}).version);
}

TEST(Parse, SuggestsVerbsOptionsAndValues) {
  EXPECT_EQ(complaint({"maek"}),
            "'maek' is not a verb; did you mean 'make'? (`gpuforge --help` lists the verbs)");
  EXPECT_THAT(complaint({"make", "--sizee=1", "x"}),
              HasSubstr("unknown option '--sizee'; did you mean '--size'?"));
  EXPECT_THAT(complaint({"make", "--paint", "gren", "x"}),
              HasSubstr("--paint is one of red, green, but 'gren' was given; did you mean 'green'?"));
  EXPECT_THAT(complaint({"store", "claer"}), HasSubstr("did you mean 'clear'?"));
  EXPECT_THAT(complaint({"zzzzzzzz"}), Not(HasSubstr("did you mean")));
  EXPECT_THAT(complaint({"secre"}), Not(HasSubstr("secret")));
  EXPECT_THAT(complaint({"make", "-x", "y"}), HasSubstr("unknown option '-x'"));
}

TEST(Parse, RefusesMissingSurplusAndRepeatedValues) {
  EXPECT_EQ(complaint({"make", "x", "--size"}), "make: --size needs a value, N");
  EXPECT_EQ(complaint({"make", "x", "--size", "--fast"}),
            "make: --size needs a value, N, but '--fast' follows");
  EXPECT_EQ(complaint({"make", "x", "--fast=1"}),
            "make: --fast is a switch and takes no value, but '1' was given");
  EXPECT_THAT(complaint({"make", "x", "--size=1", "-s2"}), HasSubstr("--size is given twice"));
  EXPECT_THAT(complaint({"make"}), HasSubstr("make: FILE is missing"));
  EXPECT_THAT(complaint({"store", "list", "clear"}), HasSubstr("'clear' is one argument too many"));
}

TEST(Parse, AnOptionalValueIsGivenByEqualsAlone) {
  const Invocation alone = parse({"make", "--limit", "5"});
  EXPECT_EQ(alone.value("limit"), "");
  EXPECT_THAT(alone.positionals, ElementsAre("5"));
  EXPECT_EQ(parse({"make", "--limit=5", "a"}).value("limit"), "5");
  EXPECT_THAT(complaint({"make", "a", "--limit", "--limit=5"}), HasSubstr("given twice"));
}

}  // namespace
}  // namespace gpuforge::cli
