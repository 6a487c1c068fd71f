#include "cli/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/config_file.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/temporary_folder_for_tests.h"

namespace gpuforge::cli {
namespace {

using testing::HasSubstr;

class SettingsTest : public testing::Test {
 protected:
  void SetUp() override {
    project_ = root_ / "project";
    std::filesystem::create_directories(project_ / "deep/er");
    std::filesystem::create_directories(root_ / "home/.config/gpuforge");
    environment_.home = (root_ / "home").string();
  }

  void project_file(const std::string& text) { write_file(project_ / "gpuforge.yaml", text); }
  void user_file(const std::string& text) { write_file(root_ / "home/.config/gpuforge/gpuforge.yaml", text); }
  Settings resolve() {
    return resolve_settings(invocation_, environment_, project_ / "deep/er", root_ / "default");
  }
  std::string source(const Settings& settings, const std::string& key) {
    for (const auto& origin : settings.origins) {
      if (origin.key == key) return origin.source;
    }
    return "no such key";
  }
  std::string complaint(ErrorCode code) {
    try {
      resolve();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      return error.message();
    }
    ADD_FAILURE() << "no error";
    return {};
  }

  const TemporaryFolder temporary_;
  const std::filesystem::path root_ = temporary_.path();
  std::filesystem::path project_;
  Environment environment_;
  Invocation invocation_;
};

TEST_F(SettingsTest, DefaultsStandWhenNobodySays) {
  const Settings settings = resolve();
  EXPECT_FALSE(settings.device.has_value());
  EXPECT_EQ(settings.cache_dir, root_ / "default");
  EXPECT_EQ(settings.cache_limit_bytes, std::uint64_t{1} << 30);
  EXPECT_FALSE(settings.strict);
  EXPECT_EQ(settings.color, ColorChoice::automatic);
  EXPECT_EQ(settings.log, LogLevel::warning);
  EXPECT_EQ(settings.origins.size(), 8u);
  for (const auto& origin : settings.origins) EXPECT_EQ(origin.source, "default") << origin.key;
}

TEST_F(SettingsTest, FlagBeatsEnvironmentBeatsProjectBeatsUser) {
  user_file("device: cpu\n");
  EXPECT_EQ(resolve().device, "cpu");
  EXPECT_THAT(source(resolve(), "device"), HasSubstr(".config/gpuforge/gpuforge.yaml:1"));
  project_file("# ours\n\ndevice: cuda:1\n");
  EXPECT_EQ(resolve().device, "cuda:1");
  EXPECT_THAT(source(resolve(), "device"), HasSubstr("project/gpuforge.yaml:3"));
  environment_.device = "sim";
  EXPECT_EQ(resolve().device, "sim");
  EXPECT_EQ(source(resolve(), "device"), "GPUFORGE_DEVICE");
  invocation_.add("device", "cuda:0");
  EXPECT_EQ(resolve().device, "cuda:0");
  EXPECT_EQ(source(resolve(), "device"), "--device");
}

TEST_F(SettingsTest, ReadsEveryKey) {
  project_file(
      "device: cuda:0\ncache-dir: kernels\ncache-limit: 512MiB\nkernel-dir: ~/tree\nstrict: true\n"
      "compiler: clang\n"
      "color: never\nlog: debug\n");
  const Settings settings = resolve();
  EXPECT_EQ(settings.cache_dir, project_ / "kernels");  // relative to the file
  EXPECT_EQ(settings.cache_limit_bytes, std::uint64_t{512} << 20);
  EXPECT_EQ(settings.kernel_dir, root_ / "home/tree");
  EXPECT_EQ(settings.compiler, jit::CompilerChoice::clang);
  EXPECT_TRUE(settings.strict);
  EXPECT_EQ(settings.color, ColorChoice::never);
  EXPECT_EQ(settings.log, LogLevel::debug);
}

TEST_F(SettingsTest, CompilerIsOneOfThree) {
  EXPECT_EQ(resolve().compiler, jit::CompilerChoice::automatic);
  invocation_.add("compiler", "nvrtc");
  EXPECT_EQ(resolve().compiler, jit::CompilerChoice::nvrtc);
  invocation_.add("compiler", "gcc");
  EXPECT_THAT(complaint(ErrorCode::invalid_argument),
              HasSubstr("compiler is auto, nvrtc or clang, but 'gcc'"));
}

TEST_F(SettingsTest, FlagsAndVariables) {
  invocation_.add("verbose", "");
  invocation_.add("strict", "");
  invocation_.add("cache-limit", "1GiB");
  environment_.no_color = "1";
  environment_.cache_dir = "/elsewhere";
  const Settings settings = resolve();
  EXPECT_EQ(settings.log, LogLevel::debug);
  EXPECT_TRUE(settings.strict);
  EXPECT_EQ(settings.color, ColorChoice::never);
  EXPECT_EQ(settings.cache_dir, "/elsewhere");
  invocation_.add("quiet", "");
  EXPECT_THAT(complaint(ErrorCode::invalid_argument), HasSubstr("--quiet and --verbose exclude each other"));
}

TEST_F(SettingsTest, UnknownKeysAreErrorsWithFileAndLine) {
  project_file("log: info\ndevcie: cpu\n");
  EXPECT_THAT(complaint(ErrorCode::parse),
              HasSubstr("project/gpuforge.yaml:2: unknown key 'devcie'; did you mean 'device'?"));
}

TEST_F(SettingsTest, BadValuesAreErrorsWithTheirSource) {
  project_file("\ncache-limit: lots\n");
  EXPECT_THAT(
      complaint(ErrorCode::invalid_argument),
      HasSubstr("gpuforge.yaml:2: cache-limit is a size such as 512MiB or 1GiB, but 'lots' was found"));
  // Also where a flag would win.
  invocation_.add("cache-limit", "1GiB");
  EXPECT_THAT(complaint(ErrorCode::invalid_argument), HasSubstr("gpuforge.yaml:2"));
  project_file("");
  environment_.strict = "maybe";
  EXPECT_THAT(complaint(ErrorCode::invalid_argument), HasSubstr("GPUFORGE_STRICT: strict is true or false"));
  environment_.strict = "0";
  environment_.log = "loud";
  EXPECT_THAT(complaint(ErrorCode::invalid_argument), HasSubstr("GPUFORGE_LOG: log is debug, info"));
}

TEST_F(SettingsTest, MalformedFilesAreErrorsWithALine) {
  for (const char* text : {"device: [a, b]\n", "- device\n", "just words\n", "device: {a: b}\n", "a: b: c\n",
                           "device: cpu\ndevice: sim\n", "? [x]\n: y\n", "\tdevice: cpu\n"}) {
    project_file(text);
    EXPECT_THAT(complaint(ErrorCode::parse), testing::ContainsRegex("gpuforge.yaml:[0-9]+: ")) << text;
  }
  project_file("device: cpu\ndevice: sim\n");
  EXPECT_THAT(complaint(ErrorCode::parse), HasSubstr(":2: 'device' is set twice"));
}

TEST_F(SettingsTest, AFolderInPlaceOfTheFileIsAnError) {
  std::filesystem::create_directory(project_ / "gpuforge.yaml");
  EXPECT_THAT(complaint(ErrorCode::io), HasSubstr("gpuforge.yaml"));
}

TEST_F(SettingsTest, EmptyFilesSayNothing) {
  for (const char* text : {"", "# only a comment\n", "---\n", "{}\n"}) {
    project_file(text);
    EXPECT_FALSE(resolve().device.has_value()) << text;
  }
}

TEST_F(SettingsTest, TheNearestProjectFileCounts) {
  project_file("device: cpu\n");
  write_file(project_ / "deep/gpuforge.yaml", "device: sim\n");
  EXPECT_EQ(resolve().device, "sim");
  EXPECT_EQ(find_project_config(project_ / "deep/er"), project_ / "deep/gpuforge.yaml");
  EXPECT_EQ(find_project_config(project_), project_ / "gpuforge.yaml");
}

TEST_F(SettingsTest, ColorWithoutFiles) {
  EXPECT_EQ(color_without_files(invocation_, environment_), ColorChoice::automatic);
  environment_.no_color = "1";
  EXPECT_EQ(color_without_files(invocation_, environment_), ColorChoice::never);
  invocation_.add("color", "always");
  EXPECT_EQ(color_without_files(invocation_, environment_), ColorChoice::always);
}

}  // namespace
}  // namespace gpuforge::cli
