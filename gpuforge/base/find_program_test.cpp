#include "gpuforge/base/find_program.h"

#include <gtest/gtest.h>

#include "gpuforge/base/file.h"
#include "gpuforge/base/temporary_folder_for_tests.h"

namespace gpuforge {
namespace {

namespace fs = std::filesystem;

TEST(FindProgram, TakesTheFirstFolderThatHasAnExecutableFile) {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b", "c"}) fs::create_directories(folder.path() / name);
  fs::create_directories(folder.path() / "a" / "tool");  // a folder of that name is none
  write_file(folder.path() / "b" / "tool", "not executable");
  write_file(folder.path() / "c" / "tool", "#!/bin/sh\n");
  const auto in = [&](const char* name) { return (folder.path() / name).string(); };
  const std::string path = in("a") + ":" + in("b") + "::" + in("c") + ":";
  fs::permissions(folder.path() / "b" / "tool", fs::perms::owner_read);
  fs::permissions(folder.path() / "c" / "tool", fs::perms::owner_all);
  EXPECT_EQ(find_program("tool", path), folder.path() / "c" / "tool");
  EXPECT_EQ(find_program("other", path), std::nullopt);
  EXPECT_EQ(find_program("tool", ""), std::nullopt);
}

TEST(FindProgram, FoldersThatDependOnWhereOneStandsDoNotCount) {
  EXPECT_TRUE(search_folders(":.:bin::").empty());
  EXPECT_EQ(search_folders("/a::b:/c"), (std::vector<fs::path>{"/a", "/c"}));
}

}  // namespace
}  // namespace gpuforge
