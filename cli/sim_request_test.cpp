#include "cli/sim_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/base/error.h"

namespace gpuforge::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Invocation invocation(std::initializer_list<std::pair<const char*, const char*>> options) {
  Invocation made;
  for (const auto& [name, value] : options) made.add(name, value);
  return made;
}

TEST(SimRequest, DefaultsCheckEverything) {
  const SimRequest request = read_sim_request(Invocation());
  EXPECT_TRUE(request.options.races && request.options.initialized && request.options.counters);
  EXPECT_EQ(request.options.schedule_seed, 0u);
  EXPECT_FALSE(request.report);
  EXPECT_THAT(request.given, IsEmpty());
  EXPECT_THAT(request.options.suppressions, IsEmpty());
}

TEST(SimRequest, ReadsEveryOption) {
  const SimRequest request = read_sim_request(invocation({{"report", ""},
                                                          {"no-races", ""},
                                                          {"no-init", ""},
                                                          {"schedule", "7"},
                                                          {"schedules", "4"},
                                                          {"max-steps", "1e6"},
                                                          {"suppress", "tile.cu:12"},
                                                          {"suppress", "dir/a:b.cu:3"}}));
  EXPECT_TRUE(request.report);
  EXPECT_FALSE(request.options.races);
  EXPECT_FALSE(request.options.initialized);
  EXPECT_EQ(request.options.schedule_seed, 7u);
  EXPECT_EQ(request.options.schedules, 4u);
  EXPECT_EQ(request.options.step_limit, 1'000'000u);
  ASSERT_EQ(request.options.suppressions.size(), 2u);
  EXPECT_EQ(request.options.suppressions[0].file, "tile.cu");
  EXPECT_EQ(request.options.suppressions[0].line, 12u);
  EXPECT_EQ(request.options.suppressions[1].file, "dir/a:b.cu");
  EXPECT_EQ(request.options.suppressions[1].line, 3u);
  EXPECT_EQ(request.given.size(), std::size(kSimOptions));
}

TEST(SimRequest, MistakesAreNamed) {
  for (const char* const text : {"tile.cu", ":12", "tile.cu:", "tile.cu:0", "tile.cu:x", "tile.cu:-1"}) {
    try {
      read_sim_request(invocation({{"suppress", text}}));
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_THAT(error.message(), HasSubstr(text));
    }
  }
  EXPECT_THROW(read_sim_request(invocation({{"schedule", "-1"}})), Error);
  EXPECT_THROW(read_sim_request(invocation({{"max-steps", "0"}})), Error);
}

TEST(SimRequest, OptionsOfTheSimulatorAreRefusedElsewhere) {
  device::DeviceFacts gpu;
  gpu.name = "cuda:0";
  gpu.kind = device::DeviceKind::cuda;
  check_is_sim(read_sim_request(Invocation()), gpu);
  const SimRequest request = read_sim_request(invocation({{"no-races", ""}}));
  check_is_sim(request, device::sim_device_facts());
  try {
    check_is_sim(request, gpu);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.message(), testing::AllOf(HasSubstr("--no-races"), HasSubstr("cuda:0")));
  }
}

}  // namespace
}  // namespace gpuforge::cli
