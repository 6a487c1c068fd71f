#include "cli/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/verbs.h"

namespace gpuforge::cli {
namespace {

using testing::HasSubstr;

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out(1);
  for (char c : text) {
    if (c == '\n') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

TEST(Help, FitsEveryWidth) {
  for (int columns : {60, 80, 200}) {
    std::vector<std::string> texts = {program_help(all_commands(), columns, Style(false))};
    for (const Command* command : all_commands())
      texts.push_back(command_help(*command, columns, Style(false)));
    for (const std::string& text : texts) {
      for (const std::string& line : lines(text)) {
        EXPECT_LE(line.size(), static_cast<std::size_t>(columns)) << line;
        EXPECT_FALSE(line.ends_with(' ')) << line;
      }
    }
  }
}

TEST(Help, NamesEveryVerbOptionAndExample) {
  const std::string program = program_help(all_commands(), 80, Style(false));
  for (const Command* command : all_commands()) {
    const std::string help = command_help(*command, 80, Style(false));
    if (command->hidden) {
      EXPECT_THAT(program, Not(HasSubstr(std::string(command->name))));
      continue;
    }
    EXPECT_THAT(program, HasSubstr("  " + std::string(command->name)));
    EXPECT_FALSE(command->examples.empty()) << command->name;
    for (const Option& option : command->options)
      EXPECT_THAT(help, HasSubstr("--" + std::string(option.name)));
    for (const Option& option : common_options())
      EXPECT_THAT(help, HasSubstr("--" + std::string(option.name)));
    EXPECT_THAT(help, HasSubstr("Examples:"));
  }
}

TEST(Help, ColoursHeadingsOnlyWhenAsked) {
  EXPECT_THAT(program_help(all_commands(), 80, Style(false)), Not(HasSubstr("\x1b")));
  EXPECT_THAT(program_help(all_commands(), 80, Style(true)), HasSubstr("\x1b[1mVerbs:\x1b[0m"));
}

TEST(Help, NoOptionHidesACommonOne) {
  for (const Command* command : all_commands()) {
    for (const Option& option : command->options) {
      for (const Option& common : common_options()) {
        EXPECT_NE(option.name, common.name) << command->name;
        EXPECT_TRUE(option.short_name == 0 || option.short_name != common.short_name) << command->name;
      }
    }
  }
}

TEST(Help, BreaksCommandLinesSoThatTheyCanBePasted) {
  EXPECT_EQ(wrap_command_line("a b c", 80, 2), "  a b c");
  EXPECT_EQ(wrap_command_line("tool --arg 'x y' --next z", 20, 2), "  tool --arg 'x y' \\\n    --next z");
}

TEST(Wrap, KeepsWordsAndIndents) {
  EXPECT_EQ(wrap("", 20, 0), "");
  EXPECT_EQ(wrap("one two three", 9, 0), "one two\nthree");
  EXPECT_EQ(wrap("one two three", 12, 2), "  one two\n  three");
  EXPECT_EQ(wrap("aaa bbb", 12, 4, 8), "aaa\n    bbb");
  EXPECT_EQ(wrap("a-word-longer-than-the-line x", 10, 0), "a-word-longer-than-the-line\nx");
  EXPECT_EQ(wrap("head\n  part one two", 12, 0), "head\n  part one\n  two");
}

}  // namespace
}  // namespace gpuforge::cli
