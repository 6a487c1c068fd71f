#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/verbs.h"

namespace gpuforge::cli {
namespace {

using testing::HasSubstr;

TEST(Completion, EveryShellKnowsEveryVerbAndOption) {
  const std::string scripts[] = {bash_completion(all_commands()), zsh_completion(all_commands()),
                                 fish_completion(all_commands())};
  for (const std::string& script : scripts) {
    for (const Command* command : all_commands()) {
      const std::string verb(command->name);
      if (command->hidden) {
        EXPECT_THAT(script, Not(HasSubstr(verb)));
        continue;
      }
      EXPECT_THAT(script, HasSubstr(verb));
      for (const Option& option : command->options) EXPECT_THAT(script, HasSubstr(std::string(option.name)));
    }
    EXPECT_THAT(script, HasSubstr("env-check"));
    EXPECT_THAT(script, HasSubstr("always"));
    EXPECT_THAT(script, HasSubstr("sm_120a"));
  }
}

}  // namespace
}  // namespace gpuforge::cli
