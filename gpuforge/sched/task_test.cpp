#include "gpuforge/sched/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gpuforge/base/error.h"

namespace gpuforge::sched {
namespace {

std::string problem(const Task& task) {
  try {
    check(task);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  }
  return "none";
}

TEST(Tasks, ClassesHaveTheirPriorities) {
  EXPECT_EQ(priority(Qos::guaranteed), 100);
  EXPECT_EQ(priority(Qos::burstable), 50);
  EXPECT_EQ(priority(Qos::best_effort), 0);
  for (const Qos qos : {Qos::guaranteed, Qos::burstable, Qos::best_effort})
    EXPECT_EQ(parse_qos(name(qos)), qos);
  EXPECT_EQ(parse_qos("Gold"), std::nullopt);
}

TEST(Tasks, GoodOnesPass) {
  EXPECT_EQ(problem({.name = "a", .memory = {0, 5}}), "none");
  EXPECT_EQ(problem({.name = "a", .qos = Qos::guaranteed, .memory = {5, 5}, .compute = {0.3, 1}}), "none");
  EXPECT_EQ(problem({.name = "a", .qos = Qos::burstable, .priority = 24, .memory = {5, 9}}), "none");
}

TEST(Tasks, BadOnesAreRefusedWithWhatWasFound) {
  using testing::HasSubstr;
  EXPECT_THAT(problem({}), HasSubstr("empty name"));
  EXPECT_THAT(problem({.name = "a", .qos = Qos::burstable, .memory = {9, 5}}),
              HasSubstr("memory request, 9 B, is over its limit, 5 B"));
  EXPECT_THAT(problem({.name = "a", .qos = Qos::guaranteed, .memory = {5, 9}}), HasSubstr("make them equal"));
  EXPECT_THAT(problem({.name = "a", .memory = {5, 9}}), HasSubstr("nothing is kept for a best_effort task"));
  EXPECT_THAT(problem({.name = "a", .bandwidth = {0.3, 1}}), HasSubstr("share 0.3 requested"));
  EXPECT_THAT(problem({.name = "a", .qos = Qos::burstable, .compute = {-0.1, 1}}), HasSubstr("found -0.1"));
  EXPECT_THAT(problem({.name = "a", .qos = Qos::burstable, .compute = {std::nan(""), 1}}),
              HasSubstr("found nan"));
  EXPECT_THAT(problem({.name = "a", .qos = Qos::burstable, .compute = {0.3, 0.2}}),
              HasSubstr("over its limit, 0.2"));
  EXPECT_THAT(problem({.name = "a", .qos = Qos::burstable, .compute = {0.5, 1}, .bandwidth = {0.1, 0.3}}),
              HasSubstr("requests 0.5 of it and is limited to 0.3"));
  EXPECT_THAT(problem({.name = "a", .compute = {0, 0}}), HasSubstr("could never run"));
  EXPECT_THAT(problem({.name = "a", .qos = Qos::burstable, .compute = {1e-300, 1}}),
              HasSubstr("at least 1e-06"));
  EXPECT_THAT(problem({.name = "a", .bandwidth = {0, 1e-9}}), HasSubstr("at least 1e-06"));
  EXPECT_THAT(problem({.name = "a", .priority = 25}), HasSubstr("-24 to 24; found 25"));
  EXPECT_THAT(problem({.name = "a", .after = {"a"}}), HasSubstr("waits for itself"));
  EXPECT_THAT(problem({.name = "a", .arrive_us = -1}), HasSubstr("found -1 us"));
  EXPECT_THAT(problem({.name = "a", .deadline_us = 0}), HasSubstr("found 0 us"));
  EXPECT_THAT(problem({.name = "a", .deadline_us = INFINITY}), HasSubstr("found inf us"));
}

}  // namespace
}  // namespace gpuforge::sched
