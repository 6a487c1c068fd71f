// The order in which configurations are tried. Pure: what one costs is asked of the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gpuforge/context/tuning_table.h"

namespace gpuforge::lab {

// all: in the order they are declared. random: in a seeded one. climb: from the best so far to the best of
// those that differ in one choice, first by the next value, then by any; from a random one when none is
// better.
enum class Strategy { all, random, climb };
std::string_view name(Strategy strategy);
std::optional<Strategy> parse_strategy(std::string_view text);

struct SearchOptions {
  Strategy strategy = Strategy::all;
  std::optional<std::size_t> budget;  // configurations tried, the start among them
  std::uint64_t seed = 1;
  std::size_t restarts = 3;  // of a climb without a budget; with one, until it is spent
};

// A cost for each configuration in turn, nothing for one that is invalid. Fewer than were asked for: the
// search ends.
using Costs = std::function<std::vector<std::optional<double>>(std::span<const Config>)>;

// No configuration is asked for twice; `start` is the first, whether it is a candidate or not.
void search(std::span<const Config> candidates, const Config& start, const SearchOptions& options,
            const Costs& costs);

// Every `count`-th candidate, from the `index`-th on; index counts from 1.
std::vector<Config> shard(std::span<const Config> candidates, std::size_t index, std::size_t count);

}  // namespace gpuforge::lab
