#include "gpuforge/base/suggest.h"

#include <gtest/gtest.h>

namespace gpuforge {
namespace {

TEST(Suggest, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("arhc", "arch"), 1u);  // neighbours swapped
  EXPECT_EQ(edit_distance("arch", "arch"), 0u);
}

TEST(Suggest, FindsTheNearestOrNone) {
  const std::vector<std::string> known = {"doctor", "devices", "compile", "cache"};
  EXPECT_EQ(nearest("docter", known), "doctor");
  EXPECT_EQ(nearest("comp", known), "compile");
  EXPECT_EQ(nearest("cahce", known), "cache");
  EXPECT_FALSE(nearest("xyz", known).has_value());
  EXPECT_FALSE(nearest("", known).has_value());
  EXPECT_FALSE(nearest(std::string(100000, 'a'), known).has_value());
  EXPECT_FALSE(nearest("doctor", {}).has_value());
  EXPECT_EQ(did_you_mean("docter", known), "; did you mean 'doctor'?");
  EXPECT_EQ(did_you_mean("xyz", known), "");
}

}  // namespace
}  // namespace gpuforge
