#include "gpuforge/sched/lane.h"

#include <algorithm>
#include <limits>

#include "gpuforge/base/error.h"

namespace gpuforge::sched {

double Lane::left_to_share() const {
  return std::max(kLeastWeight, share_ - requested_);
}

double Lane::weight(const Turn& turn) const {
  return turn.request > 0 ? turn.request : left_to_share() / std::max(sharing_, 1);
}

void Lane::join(Turn& turn, double credit_us) {
  turn.virtual_us = std::max(turn.virtual_us, clock_us_ - credit_us / share_);
  if (turn.request > 0) {
    requested_ += turn.request;
    ++requesting_;
  } else {
    ++sharing_;
  }
}

void Lane::leave(const Turn& turn) {
  if (turn.request <= 0) {
    --sharing_;
  } else if (--requesting_ == 0) {
    requested_ = 0;  // and no rounding is carried on
  } else {
    requested_ -= turn.request;
  }
}

void Lane::put(Turn& turn) {
  GPUFORGE_ASSERT(!turn.waiting, "task {} was put twice", turn.index);
  turn.waiting = true;
  waiting_[static_cast<std::size_t>(turn.qos)].insert(key(turn));
}

void Lane::take(Turn& turn) {
  GPUFORGE_ASSERT(turn.waiting, "task {} was not there", turn.index);
  turn.waiting = false;
  waiting_[static_cast<std::size_t>(turn.qos)].erase(key(turn));
}

void Lane::charge(Turn& turn, double used_us) {
  turn.virtual_us += used_us / weight(turn);
  clock_us_ += used_us / (requested_ + (sharing_ > 0 ? left_to_share() : 0));
}

std::optional<Lane::Pick> Lane::best() {
  double earliest = std::numeric_limits<double>::infinity();
  for (int qos = 0; qos < kQosCount; ++qos) {
    const auto& waiting = waiting_[static_cast<std::size_t>(qos)];
    if (waiting.empty()) continue;
    const auto& [virtual_us, sequence, index] = *waiting.begin();
    if (virtual_us <= clock_us_) return Pick{index, static_cast<Qos>(qos), true};
    earliest = std::min(earliest, virtual_us);
  }
  if (earliest == std::numeric_limits<double>::infinity()) return std::nullopt;
  clock_us_ = earliest;
  std::optional<Pick> pick = best();
  pick->within_share = false;
  return pick;
}

}  // namespace gpuforge::sched
