#include "gpuforge/lab/profile_counters.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace gpuforge::lab {
namespace {

using sim::OpClass;

sim::LaunchReport report() {
  sim::LaunchReport made;
  made.least_read_sectors = 100;
  made.sites = {
      {.place = {},
       .op_class = OpClass::load,
       .space = "global",
       .counters = {.requests = 10, .sectors = 40}},
      {.place = {}, .op_class = OpClass::load, .space = "generic", .counters = {.requests = 1, .sectors = 2}},
      {.place = {}, .op_class = OpClass::load, .space = "local", .counters = {.requests = 5, .sectors = 7}},
      {.place = {},
       .op_class = OpClass::store,
       .space = "global",
       .counters = {.requests = 3, .sectors = 12}},
      {.place = {},
       .op_class = OpClass::load,
       .space = "shared",
       .counters = {.requests = 4, .wavefronts = 9}},
      {.place = {},
       .op_class = OpClass::store,
       .space = "shared",
       .counters = {.requests = 2, .wavefronts = 2}},
  };
  return made;
}

double count(std::string_view name, const sim::LaunchReport& of) {
  for (const ProfileCounter& counter : profile_counters())
    if (counter.name == name) return counter.count(of);
  ADD_FAILURE() << "no counter " << name;
  return -1;
}

bool agrees(std::string_view name, const sim::LaunchReport& of) {
  for (const ProfileCounter& counter : profile_counters())
    if (counter.name == name) return must_agree(counter, of);
  return false;
}

TEST(ProfileCounters, AddUpTheSitesTheyAreAbout) {
  const sim::LaunchReport made = report();
  EXPECT_EQ(count("global_load_requests", made), 11);
  EXPECT_EQ(count("global_load_sectors", made), 42);
  EXPECT_EQ(count("global_store_sectors", made), 12);
  EXPECT_EQ(count("shared_load_wavefronts", made), 9);
  EXPECT_EQ(count("shared_store_wavefronts", made), 2);
  EXPECT_EQ(count("least_read_bytes", made), 3200);
}

TEST(ProfileCounters, EachHasAMetricOfItsOwn) {
  std::set<std::string_view> names, metrics;
  for (const ProfileCounter& counter : profile_counters()) {
    EXPECT_TRUE(names.insert(counter.name).second) << counter.name;
    EXPECT_TRUE(metrics.insert(counter.ncu).second) << counter.ncu;
    EXPECT_NE(counter.count, nullptr);
    EXPECT_FALSE(name(counter.agreement).empty());
  }
}

TEST(ProfileCounters, RequestsMustAgreeUnlessLanesPart) {
  sim::LaunchReport made = report();
  EXPECT_TRUE(agrees("global_load_requests", made));
  EXPECT_TRUE(agrees("global_load_sectors", made));
  EXPECT_FALSE(agrees("warp_instructions", made));
  EXPECT_FALSE(agrees("least_read_bytes", made));  // a few kilobytes of code and constants are read as well
  made.sites[0].counters.divergent = 1;
  made.least_read_sectors = 1 << 20;
  EXPECT_FALSE(agrees("global_load_requests", made));
  EXPECT_FALSE(agrees("shared_load_wavefronts", made));
  EXPECT_TRUE(agrees("global_load_sectors", made));
  EXPECT_TRUE(agrees("least_read_bytes", made));
}

}  // namespace
}  // namespace gpuforge::lab
