#include "gpuforge/lab/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <set>

#include "gpuforge/base/error.h"

namespace gpuforge::lab {
namespace {

using gpuforge::to_string;
using testing::ElementsAre;

Config at(std::int64_t x, std::int64_t y) {
  return {{"x", x}, {"y", y}};
}

// 8 x 8, the values powers of two.
std::vector<Config> grid() {
  std::vector<Config> list;
  for (int x = 0; x < 8; ++x) {
    for (int y = 0; y < 8; ++y) list.push_back(at(1 << x, 1 << y));
  }
  return list;
}

// One valley, its bottom at 32, 4.
double valley(const Config& config) {
  const auto steps = [](std::int64_t value, std::int64_t bottom) {
    return std::abs(std::countr_zero(static_cast<std::uint64_t>(value)) -
                    std::countr_zero(static_cast<std::uint64_t>(bottom)));
  };
  return 1 + steps(config.at("x"), 32) + 2 * steps(config.at("y"), 4);
}

struct Trace {
  std::vector<Config> asked;
  Config best;
  double least = 1e9;
};

Trace follow(std::span<const Config> candidates, const Config& start, const SearchOptions& options,
             const std::function<std::optional<double>(const Config&)>& cost = valley,
             std::size_t end_after = 1000) {
  Trace trace;
  search(candidates, start, options, [&](std::span<const Config> wanted) {
    std::vector<std::optional<double>> costs;
    for (const Config& config : wanted) {
      if (trace.asked.size() == end_after) return costs;
      trace.asked.push_back(config);
      costs.push_back(cost(config));
      if (costs.back() && *costs.back() < trace.least) {
        trace.least = *costs.back();
        trace.best = config;
      }
    }
    return costs;
  });
  EXPECT_EQ(std::set<Config>(trace.asked.begin(), trace.asked.end()).size(), trace.asked.size());
  return trace;
}

TEST(Search, AllTriesEachOnceInOrderAfterTheStart) {
  const auto candidates = grid();
  const Trace trace = follow(candidates, at(1, 2), {});
  EXPECT_EQ(trace.asked.size(), 64u);
  EXPECT_EQ(trace.asked[0], at(1, 2));
  EXPECT_EQ(trace.asked[1], at(1, 1));
  EXPECT_EQ(trace.best, at(32, 4));
  // A start that is not a candidate is one more.
  EXPECT_EQ(follow(candidates, at(3, 3), {.strategy = Strategy::all}, [](const Config&) { return 1.0; })
                .asked.size(),
            65u);
}

TEST(Search, RandomIsSeededAndKeepsItsBudget) {
  const auto candidates = grid();
  const SearchOptions options{.strategy = Strategy::random, .budget = 10, .seed = 5};
  const Trace trace = follow(candidates, at(1, 1), options);
  EXPECT_EQ(trace.asked.size(), 10u);
  EXPECT_EQ(follow(candidates, at(1, 1), options).asked, trace.asked);
  EXPECT_NE(follow(candidates, at(1, 1), {.strategy = Strategy::random, .budget = 10, .seed = 6}).asked,
            trace.asked);
}

TEST(Search, ClimbFindsTheBottomOfAValleyWithinItsBudget) {
  const auto candidates = grid();
  for (const Config& start : candidates) {
    const Trace trace = follow(candidates, start, {.strategy = Strategy::climb, .budget = 36});
    EXPECT_EQ(trace.best, at(32, 4)) << to_string(start);
    EXPECT_LE(trace.asked.size(), 36u);
  }
}

TEST(Search, ClimbLeavesInvalidPlacesAndDeadEnds) {
  const auto candidates = grid();
  // The start is invalid, so is a wall between it and the bottom that one step does not cross.
  const auto walled = [](const Config& config) -> std::optional<double> {
    if (config == at(1, 1) || config.at("x") == 8) return std::nullopt;
    return valley(config);
  };
  EXPECT_EQ(follow(candidates, at(1, 1), {.strategy = Strategy::climb, .budget = 50}, walled).best,
            at(32, 4));
  EXPECT_EQ(follow(candidates, at(1, 2), {.strategy = Strategy::climb, .budget = 50}, walled).best,
            at(32, 4));
  // Without a budget it ends by itself, with one when all are known.
  EXPECT_LT(follow(candidates, at(32, 4), {.strategy = Strategy::climb, .restarts = 0}).asked.size(), 20u);
  EXPECT_EQ(follow(candidates, at(1, 1), {.strategy = Strategy::climb, .budget = 500}).asked.size(), 64u);
}

TEST(Search, EndsWhenTheCallerDoes) {
  const auto candidates = grid();
  for (const Strategy strategy : {Strategy::all, Strategy::random, Strategy::climb}) {
    EXPECT_EQ(follow(candidates, at(1, 1), {.strategy = strategy}, valley, 3).asked.size(), 3u);
    EXPECT_EQ(follow(candidates, at(1, 1), {.strategy = strategy, .budget = 1}).asked.size(), 1u);
    EXPECT_EQ(parse_strategy(name(strategy)), strategy);
  }
  EXPECT_THROW(follow(candidates, at(1, 1), {.budget = 0}), Error);
  EXPECT_EQ(parse_strategy("some"), std::nullopt);
}

TEST(Search, ShardsAreDisjointAndComplete) {
  const auto candidates = grid();
  for (const std::size_t count : {1u, 3u, 64u, 100u}) {
    std::set<Config> together;
    std::size_t sum = 0;
    for (std::size_t index = 1; index <= count; ++index) {
      const auto part = shard(candidates, index, count);
      together.insert(part.begin(), part.end());
      sum += part.size();
    }
    EXPECT_EQ(sum, candidates.size());
    EXPECT_EQ(together.size(), candidates.size());
  }
  EXPECT_THAT(shard(std::vector{at(1, 1), at(1, 2), at(1, 3)}, 2, 2), ElementsAre(at(1, 2)));
  EXPECT_THROW(shard(candidates, 0, 2), Error);
  EXPECT_THROW(shard(candidates, 3, 2), Error);
}

}  // namespace
}  // namespace gpuforge::lab
