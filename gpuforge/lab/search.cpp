#include "gpuforge/lab/search.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "gpuforge/base/error.h"

namespace gpuforge::lab {
namespace {

constexpr std::string_view kNames[] = {"all", "random", "climb"};

// Not std::shuffle, whose order differs between standard libraries.
void shuffle(std::vector<Config>& list, std::mt19937_64& random) {
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random() % i]);
}

class Searching {
 public:
  Searching(std::span<const Config> candidates, const SearchOptions& options, const Costs& costs)
      : candidates_(candidates.begin(), candidates.end()),
        options_(options),
        costs_(costs),
        random_(options.seed) {}

  void run(const Config& start) {
    if (!ask({start})) return;
    if (options_.strategy == Strategy::climb) {
      climb(start);
      return;
    }
    std::vector<Config> order = candidates_;
    if (options_.strategy == Strategy::random) shuffle(order, random_);
    ask(order);
  }

 private:
  // False when it is over.
  bool ask(const std::vector<Config>& wanted) {
    std::vector<Config> fresh;
    std::set<Config> taken;
    bool cut = false;
    for (const Config& config : wanted) {
      if (known_.contains(config) || !taken.insert(config).second) continue;
      if (options_.budget && known_.size() + fresh.size() >= *options_.budget) {
        cut = true;
        break;
      }
      fresh.push_back(config);
    }
    if (fresh.empty()) return !cut;
    const auto costs = costs_(fresh);
    for (std::size_t i = 0; i < std::min(costs.size(), fresh.size()); ++i) known_[fresh[i]] = costs[i];
    return !cut && costs.size() >= fresh.size();
  }

  void climb(Config at) {
    order_values(at);
    for (std::size_t restarts = 0;;) {
      if (known_[at]) {
        const std::vector<Config> near = neighbours(at, true);
        if (!ask(near)) return;
        if (move_to_better(at, near)) continue;
        const std::vector<Config> any = neighbours(at, false);
        if (!ask(any)) return;
        if (move_to_better(at, any)) continue;
      }
      if (!options_.budget && restarts++ >= options_.restarts) return;
      std::vector<Config> unknown;
      for (const Config& config : candidates_) {
        if (!known_.contains(config)) unknown.push_back(config);
      }
      if (unknown.empty()) return;
      at = unknown[random_() % unknown.size()];
      if (!ask({at})) return;
    }
  }

  bool move_to_better(Config& at, const std::vector<Config>& list) const {
    const Config* best = nullptr;
    double least = *known_.at(at);
    for (const Config& config : list) {
      const std::optional<double>& cost = known_.at(config);
      if (!cost || *cost >= least) continue;
      least = *cost;
      best = &config;
    }
    if (best == nullptr) return false;
    at = Config(*best);
    return true;
  }

  void order_values(const Config& start) {
    std::map<std::string, std::set<std::int64_t>> values;
    const auto add = [&](const Config& config) {
      for (const auto& [choice, value] : config) values[choice].insert(value);
    };
    add(start);
    for (const Config& config : candidates_) add(config);
    for (const auto& [choice, set] : values) values_[choice].assign(set.begin(), set.end());
  }

  // Those that differ from it in one choice, by one step of its values or by any.
  std::vector<Config> neighbours(const Config& at, bool near) const {
    std::vector<Config> list;
    for (const Config& config : candidates_) {
      std::size_t different = 0;
      bool one_step = true;
      for (const auto& [choice, values] : values_) {
        const auto mine = at.find(choice);
        const auto other = config.find(choice);
        if (mine == at.end() && other == config.end()) continue;
        if (mine == at.end() || other == config.end()) {
          ++different;
          one_step = false;
          continue;
        }
        if (mine->second == other->second) continue;
        ++different;
        const auto place = [&](std::int64_t value) {
          return std::lower_bound(values.begin(), values.end(), value) - values.begin();
        };
        const auto steps = place(mine->second) - place(other->second);
        one_step = one_step && (steps == 1 || steps == -1);
      }
      if (different == 1 && (one_step || !near)) list.push_back(config);
    }
    return list;
  }

  const std::vector<Config> candidates_;
  const SearchOptions& options_;
  const Costs& costs_;
  std::mt19937_64 random_;
  std::map<Config, std::optional<double>> known_;
  std::map<std::string, std::vector<std::int64_t>> values_;  // of each choice, in order
};

}  // namespace

std::string_view name(Strategy strategy) {
  return kNames[static_cast<std::size_t>(strategy)];
}

std::optional<Strategy> parse_strategy(std::string_view text) {
  const auto found = std::find(std::begin(kNames), std::end(kNames), text);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<Strategy>(found - std::begin(kNames));
}

void search(std::span<const Config> candidates, const Config& start, const SearchOptions& options,
            const Costs& costs) {
  GPUFORGE_CHECK(!options.budget || *options.budget > 0, "tune: a budget is at least 1");
  Searching(candidates, options, costs).run(start);
}

std::vector<Config> shard(std::span<const Config> candidates, std::size_t index, std::size_t count) {
  GPUFORGE_CHECK(index >= 1 && index <= count, "tune: a shard is one of 1 to its number, found {}/{}", index,
                 count);
  std::vector<Config> list;
  for (std::size_t i = index - 1; i < candidates.size(); i += count) list.push_back(candidates[i]);
  return list;
}

}  // namespace gpuforge::lab
