#include "gpuforge/sched/lane.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace gpuforge::sched {
namespace {

// Everybody always wants the device, in pieces of `piece_us` each; the shares after `total_us`.
std::vector<double> shares(std::vector<Turn> turns, const std::vector<double>& piece_us, double total_us,
                           double vary = 0) {
  Lane lane(1);
  std::mt19937 random(7);
  std::uniform_real_distribution<double> spread(1 - vary, 1 + vary);
  std::vector<double> used(turns.size());
  for (std::uint32_t i = 0; i < turns.size(); ++i) {
    turns[i].index = i;
    turns[i].sequence = i;
    lane.join(turns[i], 0);
    lane.put(turns[i]);
  }
  double now_us = 0;
  while (now_us < total_us) {
    const auto pick = lane.best();
    Turn& turn = turns[pick->index];
    lane.take(turn);
    const double us = piece_us[pick->index] * spread(random);
    lane.charge(turn, us);
    used[pick->index] += us;
    now_us += us;
    lane.put(turn);
  }
  for (double& value : used) value /= now_us;
  return used;
}

TEST(Lanes, ARequestIsMetWhateverTheOthersPiecesAre) {
  for (const double hog_us : {10.0, 100.0, 1000.0}) {
    const auto result = shares({{.request = 0.3, .qos = Qos::guaranteed}, {.qos = Qos::best_effort}},
                               {200, hog_us}, 1e6, 0.5);
    EXPECT_NEAR(result[0], 0.3, 0.005) << hog_us;
    EXPECT_NEAR(result[1], 0.7, 0.005) << hog_us;
  }
}

TEST(Lanes, TheClassDecidesWhoWaitsNotHowMuch) {
  for (const Qos qos : {Qos::guaranteed, Qos::burstable}) {
    const auto result = shares({{.request = 0.2, .qos = qos},
                                {.request = 0.5, .qos = Qos::burstable},
                                {.qos = Qos::best_effort},
                                {.qos = Qos::best_effort}},
                               {300, 50, 700, 20}, 1e6);
    EXPECT_NEAR(result[0], 0.2, 0.005);
    EXPECT_NEAR(result[1], 0.5, 0.005);
    EXPECT_NEAR(result[2], 0.15, 0.005);
    EXPECT_NEAR(result[3], 0.15, 0.005);
  }
}

TEST(Lanes, WhatNobodyRequestedIsSharedInProportion) {
  const auto result = shares(
      {{.request = 0.2, .qos = Qos::guaranteed}, {.request = 0.3, .qos = Qos::burstable}}, {100, 100}, 1e6);
  EXPECT_NEAR(result[0], 0.4, 0.005);
  EXPECT_NEAR(result[1], 0.6, 0.005);
}

TEST(Lanes, NothingStarvesWhenAllIsRequested) {
  const auto result =
      shares({{.request = 1, .qos = Qos::guaranteed}, {.qos = Qos::best_effort}}, {100, 100}, 1e6);
  EXPECT_NEAR(result[1], Lane::kLeastWeight / (1 + Lane::kLeastWeight), 0.001);
}

TEST(Lanes, TheFirstWithinItsShareIsTheHighestClass) {
  Lane lane(1);
  Turn effort{.sequence = 1, .index = 1, .qos = Qos::best_effort};
  Turn guaranteed{.request = 0.1, .sequence = 2, .index = 2, .qos = Qos::guaranteed};
  for (Turn* turn : {&effort, &guaranteed}) {
    lane.join(*turn, 0);
    lane.put(*turn);
  }
  EXPECT_EQ(lane.best()->index, 2u);
  lane.take(guaranteed);
  lane.charge(guaranteed, 100);
  lane.put(guaranteed);
  EXPECT_EQ(lane.best()->index, 1u);  // past its share now
}

TEST(Lanes, CreditIsBoundedByTheBurst) {
  Lane lane(1);
  Turn hog{.sequence = 1, .index = 1, .qos = Qos::best_effort};
  lane.join(hog, 0);
  lane.charge(hog, 1e6);
  Turn late{.request = 0.5, .sequence = 2, .index = 2, .qos = Qos::guaranteed};
  lane.join(late, 1000);
  lane.put(hog);
  lane.put(late);
  double at_once_us = 0;
  while (lane.best()->index == 2) {
    lane.take(late);
    lane.charge(late, 10);
    at_once_us += 10;
    lane.put(late);
  }
  EXPECT_NEAR(at_once_us, 1000, 20);  // its half of 1000, and as much again while the clock goes on
}

TEST(Lanes, AnEmptyOneHasNobody) {
  EXPECT_FALSE(Lane(1).best());
}

}  // namespace
}  // namespace gpuforge::sched
