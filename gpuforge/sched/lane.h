// Who of a partition's tasks has the next turn: weighted fair queueing by virtual time. A task's time goes on
// by the device time it used over its weight, the common clock by that time over all weights; who is not past
// the clock is within its share, and among those the highest class goes first. Whoever rushed ahead waits
// until the clock has caught up, so class decides who waits and shares decide how much everybody gets. Not
// installed.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <tuple>

#include "gpuforge/sched/task.h"

namespace gpuforge::sched {

// A task as its lane sees it.
struct Turn {
  double virtual_us = -std::numeric_limits<double>::infinity();
  double request = 0;          // 0: has a part of what nobody requested
  std::uint64_t sequence = 0;  // settles ties
  std::uint32_t index = 0;
  Qos qos{};
  bool waiting = false;  // could be picked
};

class Lane {
 public:
  // What those without a request have together, however much is requested: nothing starves.
  static constexpr double kLeastWeight = 0.01;

  explicit Lane(double share) : share_(share) {}

  struct Pick {
    std::uint32_t index = 0;
    Qos qos{};
    bool within_share = false;
  };

  // Begins and ceases to want the device; joining keeps at most `credit_us` of what it did not use before.
  void join(Turn& turn, double credit_us);
  void leave(const Turn& turn);
  void put(Turn& turn);
  void take(Turn& turn);
  void charge(Turn& turn, double used_us);

  std::optional<Pick> best();  // moves the clock where all are past it: nobody idles for nothing
  double weight(const Turn& turn) const;
  double clock_us() const { return clock_us_; }
  int active() const { return requesting_ + sharing_; }

 private:
  using Key = std::tuple<double, std::uint64_t, std::uint32_t>;
  static Key key(const Turn& turn) { return {turn.virtual_us, turn.sequence, turn.index}; }
  double left_to_share() const;

  const double share_;
  double clock_us_ = 0;
  double requested_ = 0;  // by those that want the device
  int requesting_ = 0;
  int sharing_ = 0;  // want it without a request
  std::array<std::set<Key>, kQosCount> waiting_;
};

}  // namespace gpuforge::sched
