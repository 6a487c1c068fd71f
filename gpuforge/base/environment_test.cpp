#include "gpuforge/base/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

namespace gpuforge {
namespace {

// Puts the variables of the table back as they were.
class EnvironmentTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const EnvironmentEntry& entry : environment_table()) {
      const char* value = std::getenv(std::string(entry.name).c_str());
      saved_.push_back(value != nullptr ? std::optional<std::string>(value) : std::nullopt);
    }
  }
  void TearDown() override {
    for (std::size_t i = 0; i < saved_.size(); ++i) {
      const std::string name(environment_table()[i].name);
      if (saved_[i]) {
        setenv(name.c_str(), saved_[i]->c_str(), 1);
      } else {
        unsetenv(name.c_str());
      }
    }
  }

 private:
  std::vector<std::optional<std::string>> saved_;
};

TEST_F(EnvironmentTest, TheTableIsTheHeadersEleven) {
  std::set<std::string_view> names;
  for (const EnvironmentEntry& entry : environment_table()) {
    names.insert(entry.name);
    EXPECT_FALSE(entry.meaning.empty());
    EXPECT_LE(entry.meaning.size(), 100u);
    EXPECT_EQ(entry.meaning.find('\n'), std::string_view::npos);
  }
  EXPECT_EQ(names,
            (std::set<std::string_view>{"GPUFORGE_DEVICE", "GPUFORGE_CACHE_DIR", "GPUFORGE_LIBRARY_PATH",
                                        "GPUFORGE_LOG", "GPUFORGE_STRICT", "GPUFORGE_POOL", "NO_COLOR",
                                        "CUDA_HOME", "HOME", "XDG_CACHE_HOME", "PATH"}));
  EXPECT_EQ(environment_table().size(), 11u);
}

TEST_F(EnvironmentTest, EachVariableLandsInItsOwnMember) {
  for (const EnvironmentEntry& entry : environment_table()) {
    setenv(std::string(entry.name).c_str(), ("value of " + std::string(entry.name)).c_str(), 1);
  }
  const Environment environment = read_environment();
  for (const EnvironmentEntry& entry : environment_table()) {
    EXPECT_EQ(environment.*entry.value, "value of " + std::string(entry.name));
  }
  EXPECT_EQ(environment.device, "value of GPUFORGE_DEVICE");
  EXPECT_EQ(environment.xdg_cache, "value of XDG_CACHE_HOME");
  EXPECT_EQ(environment.strict, "value of GPUFORGE_STRICT");
}

TEST_F(EnvironmentTest, EmptyCountsAsUnset) {
  for (const EnvironmentEntry& entry : environment_table()) setenv(std::string(entry.name).c_str(), "", 1);
  const Environment empty = read_environment();
  for (const EnvironmentEntry& entry : environment_table()) {
    EXPECT_EQ(empty.*entry.value, std::nullopt);
    unsetenv(std::string(entry.name).c_str());
  }
  const Environment unset = read_environment();
  for (const EnvironmentEntry& entry : environment_table()) EXPECT_EQ(unset.*entry.value, std::nullopt);
}

}  // namespace
}  // namespace gpuforge
