#include "gpuforge/sched/dispatch_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpuforge::sched {
namespace {

std::string listed(const std::vector<DispatchStatus>& launches) {
  constexpr std::size_t kNamed = 4;
  std::string text;
  for (std::size_t i = 0; i < launches.size() && i < kNamed; ++i) {
    text += (i == 0 ? "" : "; ") + to_text(launches[i]);
  }
  if (launches.size() > kNamed) text += format_text("; and {} more", launches.size() - kNamed);
  return text;
}

}  // namespace

std::string_view name(DispatchState state) {
  switch (state) {
    case DispatchState::queued:
      return "queued";
    case DispatchState::launched:
      return "launched";
    case DispatchState::completed:
      return "completed";
    case DispatchState::failed:
      return "failed";
    case DispatchState::cancelled:
      return "cancelled";
  }
  return "?";
}

bool is_over(DispatchState state) {
  return state != DispatchState::queued && state != DispatchState::launched;
}

std::string to_text(const DispatchStatus& status) {
  return format_text("launch {}: kernel {} with grid {}, block {}{} on stream {}", status.id, status.kernel,
                     to_string(status.config.grid), to_string(status.config.block),
                     status.task.empty() ? "" : format_text(" of task '{}'", status.task), status.lane);
}

std::string to_text(const TaskAccounts& accounts) {
  std::string text = format_text("{:<20} {:>7} {:>8} {:>9} {:>7} {:>9} {:>12} {:>12}\n", "task", "queued",
                                 "launched", "completed", "failed", "cancelled", "GPU ms", "waited ms");
  for (const auto& [task, account] : accounts) {
    text += format_text("{:<20} {:>7} {:>8} {:>9} {:>7} {:>9} {:>12.3f} {:>12.3f}\n", task, account.queued,
                        account.launched, account.completed, account.failed, account.cancelled,
                        account.gpu_us / 1e3, account.wait_us / 1e3);
  }
  return text;
}

Json to_json(const TaskAccounts& accounts) {
  Json list = Json::array();
  for (const auto& [task, account] : accounts) {
    Json one = Json::object();
    one.set("task", task).set("queued", account.queued).set("launched", account.launched);
    one.set("completed", account.completed).set("failed", account.failed).set("cancelled", account.cancelled);
    one.set("gpu_us", account.gpu_us).set("wait_us", account.wait_us);
    list.push_back(std::move(one));
  }
  return list;
}

std::string to_text(const FaultReport& report) {
  std::string text = format_text("dispatch: {} faulted on {}: {}", listed(report.suspects), report.device,
                                 report.fault.message());
  if (report.suspects.size() > 1) {
    text = format_text("dispatch: one of these faulted on {}, and it cannot be told which: {}: {}",
                       report.device, listed(report.suspects), report.fault.message());
  }
  if (report.suspects.empty()) {
    text = format_text("dispatch: {} was lost, with no launch of ours in flight: {}", report.device,
                       report.fault.message());
  }
  if (!report.context_lost) return text + "\nNothing else was lost: other launches go on.";
  text += format_text("\nThe context is lost with it: all memory of {}", report.device);
  text += format_text("\n{} launches behind it in flight{}", report.lost_in_flight.size(),
                      report.lost_in_flight.empty() ? "" : ": " + listed(report.lost_in_flight));
  text += format_text("\n{} requests that were never launched{}", report.never_launched.size(),
                      report.never_launched.empty() ? "" : ": " + listed(report.never_launched));
  return text + "\nA new process is needed to use the GPU again.";
}

DispatchQueue::DispatchQueue(std::string device, std::size_t lanes, std::size_t in_flight_per_lane)
    : device_(std::move(device)), in_flight_per_lane_(in_flight_per_lane), lanes_(lanes) {
  GPUFORGE_CHECK(lanes > 0 && in_flight_per_lane > 0,
                 "dispatch: at least 1 stream and 1 launch in flight on it are needed, and {} and {} were "
                 "asked for",
                 lanes, in_flight_per_lane);
}

DispatchStatus& DispatchQueue::entry(DispatchId id) {
  return const_cast<DispatchStatus&>(std::as_const(*this).status(id));
}

const DispatchStatus& DispatchQueue::status(DispatchId id) const {
  const auto found = entries_.find(id);
  GPUFORGE_CHECK(found != entries_.end(), "dispatch: there is no launch {}; it was forgotten or never made",
                 id);
  return found->second;
}

DispatchId DispatchQueue::add(Request request, double now_us) {
  GPUFORGE_CHECK(request.lane < lanes_.size(),
                 "dispatch: kernel {} was asked for on stream {}, of {} streams", request.kernel,
                 request.lane, lanes_.size());
  if (lost_to_) {
    throw Error(ErrorCode::cuda,
                format_text("dispatch: kernel {} of task '{}' cannot be launched: {} was lost "
                            "to an earlier fault: {}",
                            request.kernel, request.task, device_, *lost_to_));
  }
  const DispatchId id = ++last_id_;
  DispatchStatus& made = entries_[id];
  made.id = id;
  made.task = std::move(request.task);
  made.kernel = std::move(request.kernel);
  made.config = request.config;
  made.lane = request.lane;
  made.priority = request.priority;
  made.queued_us = now_us;
  lanes_[made.lane].waiting.insert({made.priority, id});
  ++accounts_[made.task].queued;
  return id;
}

std::optional<DispatchId> DispatchQueue::start(std::size_t lane, double now_us) {
  Lane& own = lanes_.at(lane);
  if (own.waiting.empty() || own.in_flight.size() >= in_flight_per_lane_) return std::nullopt;
  const DispatchId id = own.waiting.begin()->id;
  own.waiting.erase(own.waiting.begin());
  own.in_flight.push_back(id);
  DispatchStatus& next = entries_.at(id);
  next.state = DispatchState::launched;
  next.launched_us = now_us;
  TaskAccount& account = accounts_[next.task];
  --account.queued;
  ++account.launched;
  account.wait_us += now_us - next.queued_us;
  return id;
}

// From the lane and the account of what it was, to what it is.
void DispatchQueue::leave(DispatchStatus& status, DispatchState state, double now_us) {
  Lane& own = lanes_[status.lane];
  TaskAccount& account = accounts_[status.task];
  if (status.state == DispatchState::queued) {
    own.waiting.erase({status.priority, status.id});
    --account.queued;
  } else {
    std::erase(own.in_flight, status.id);
    --account.launched;
  }
  status.state = state;
  status.over_us = now_us;
  if (state == DispatchState::completed) ++account.completed;
  if (state == DispatchState::failed) ++account.failed;
  if (state == DispatchState::cancelled) ++account.cancelled;
}

void DispatchQueue::complete(DispatchId id, double started_us, double gpu_us, double now_us) {
  DispatchStatus& done = entry(id);
  GPUFORGE_ASSERT(done.state == DispatchState::launched, "dispatch: launch {} completed, and was {}", id,
                  name(done.state));
  done.started_us = started_us;
  done.gpu_us = gpu_us;
  accounts_[done.task].gpu_us += gpu_us;
  leave(done, DispatchState::completed, now_us);
}

FaultReport DispatchQueue::fail(DispatchId id, const Error& why, double now_us) {
  DispatchStatus& failed = entry(id);
  GPUFORGE_ASSERT(!is_over(failed.state), "dispatch: launch {} failed, and was {}", id, name(failed.state));
  failed.failure =
      Error(why.code(), format_text("dispatch: {} failed on {}: {}", to_text(failed), device_, why.message()),
            why.detail());
  leave(failed, DispatchState::failed, now_us);
  FaultReport report;
  report.device = device_;
  report.fault = why;
  report.suspects = {failed};
  return report;
}

FaultReport DispatchQueue::lose(const Error& why, double now_us) {
  FaultReport report;
  report.device = device_;
  report.fault = why;
  report.context_lost = true;
  for (const Lane& lane : lanes_) {
    for (const DispatchId id : lane.in_flight) {
      (id == lane.in_flight.front() ? report.suspects : report.lost_in_flight).push_back(entries_.at(id));
    }
    for (const Rank& rank : lane.waiting) report.never_launched.push_back(entries_.at(rank.id));
  }
  std::ranges::sort(report.never_launched, {}, &DispatchStatus::id);
  lost_to_ =
      report.suspects.empty() ? why.message() : format_text("{}: {}", listed(report.suspects), why.message());
  const auto end = [&](std::vector<DispatchStatus>& group, std::string_view what, std::string_view to_what) {
    for (DispatchStatus& copy : group) {
      DispatchStatus& lost = entries_.at(copy.id);
      lost.failure =
          Error(why.code(), format_text("dispatch: {} {}{}", to_text(lost), what, to_what), why.detail());
      leave(lost, DispatchState::failed, now_us);
      copy = lost;
    }
  };
  if (report.suspects.size() == 1) {
    end(report.suspects, format_text("failed on {}, and took the context with it: ", device_), why.message());
  } else {
    end(report.suspects, format_text("is one of those that may have faulted on {}: ", device_), *lost_to_);
  }
  end(report.lost_in_flight, format_text("was lost in flight with the context of {}, to ", device_),
      *lost_to_);
  end(report.never_launched, format_text("was never launched: the context of {} was lost to ", device_),
      *lost_to_);
  return report;
}

bool DispatchQueue::cancel(DispatchId id, double now_us) {
  DispatchStatus& found = entry(id);
  if (found.state != DispatchState::queued) return false;
  leave(found, DispatchState::cancelled, now_us);
  return true;
}

std::string DispatchQueue::reason(DispatchId id) const {
  const DispatchStatus& found = status(id);
  if (found.state != DispatchState::queued) return std::string(name(found.state));
  const Lane& own = lanes_[found.lane];
  const auto ahead = std::distance(own.waiting.begin(), own.waiting.find({found.priority, id}));
  if (ahead > 0) return format_text("{} launches of higher rank on stream {} go first", ahead, found.lane);
  if (own.in_flight.size() < in_flight_per_lane_) return "next";
  return format_text("{} launches are in flight on stream {}, of {} at most", own.in_flight.size(),
                     found.lane, in_flight_per_lane_);
}

void DispatchQueue::forget(DispatchId id) {
  GPUFORGE_CHECK(is_over(status(id).state), "dispatch: only what is over can be forgotten; launch {} is {}",
                 id, name(status(id).state));
  entries_.erase(id);
}

std::vector<DispatchId> DispatchQueue::in_flight(std::size_t lane) const {
  return lanes_.at(lane).in_flight;
}

std::vector<DispatchId> DispatchQueue::ids() const {
  std::vector<DispatchId> all;
  for (const auto& [id, unused] : entries_) all.push_back(id);
  return all;
}

}  // namespace gpuforge::sched
