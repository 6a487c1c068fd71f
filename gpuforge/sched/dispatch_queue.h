// Which kernel is launched next: the decisions of the dispatch controller, without threads, clock or device.
// Times come in as microseconds of any one clock. dispatch_controller.h carries them out.
//
// Each stream is a lane with so many launches in flight. In a lane the request of highest priority goes
// first, among equals the one that came first; so what a task wants in order it asks for on one lane with one
// priority.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/base/error.h"
#include "gpuforge/base/json.h"
#include "gpuforge/device/launch.h"

namespace gpuforge::sched {

enum class DispatchState { queued, launched, completed, failed, cancelled };
std::string_view name(DispatchState state);
bool is_over(DispatchState state);

using DispatchId = std::uint64_t;  // from 1, in the order of arrival

struct DispatchStatus {
  DispatchId id = 0;
  std::string task;    // whose account it goes to
  std::string kernel;  // its name, for messages
  device::LaunchConfig config;
  std::size_t lane = 0;
  int priority = 0;
  DispatchState state = DispatchState::queued;
  double queued_us = 0;
  double launched_us = 0;  // handed to the device; 0 before
  double started_us = 0;   // on the device; 0 when not known
  double gpu_us = 0;       // from its start to its end on the device
  double over_us = 0;      // 0 before
  std::optional<Error> failure;
};
// "launch 3: kernel axpy with grid (4, 1, 1), block (256, 1, 1) of task 'a' on stream 0".
std::string to_text(const DispatchStatus& status);

// What a task had so far.
struct TaskAccount {
  std::uint64_t queued = 0;    // now
  std::uint64_t launched = 0;  // now in flight
  std::uint64_t completed = 0, failed = 0, cancelled = 0;
  double gpu_us = 0;   // of those completed
  double wait_us = 0;  // from request to launch, of those launched
};
using TaskAccounts = std::map<std::string, TaskAccount>;
std::string to_text(const TaskAccounts& accounts);  // a table
Json to_json(const TaskAccounts& accounts);

// What a fault took with it.
struct FaultReport {
  std::string device;
  Error fault{ErrorCode::internal, ""};
  // It was one of these: the oldest in flight of each lane. One where only one lane had any, or where the
  // device says which.
  std::vector<DispatchStatus> suspects;
  bool context_lost = false;
  // With the context: launches behind the suspects, requests that were never launched, and all memory of the
  // device.
  std::vector<DispatchStatus> lost_in_flight;
  std::vector<DispatchStatus> never_launched;
};
std::string to_text(const FaultReport& report);

class DispatchQueue {
 public:
  // invalid_argument for no lane or a limit of zero.
  DispatchQueue(std::string device, std::size_t lanes, std::size_t in_flight_per_lane);

  struct Request {
    std::string task;
    std::string kernel;
    device::LaunchConfig config;
    std::size_t lane = 0;
    int priority = 0;  // higher goes first
  };
  // A lane there is not: invalid_argument. After the context was lost: a cuda Error that says by what.
  DispatchId add(Request request, double now_us);
  // The next launch of a lane, launched from now on; nothing when the limit is reached or none waits.
  std::optional<DispatchId> start(std::size_t lane, double now_us);
  void complete(DispatchId id, double started_us, double gpu_us, double now_us);
  // That launch failed and nothing else did.
  FaultReport fail(DispatchId id, const Error& why, double now_us);
  // The context is lost: all that is not over fails, each with a message that says what it lost it to.
  FaultReport lose(const Error& why, double now_us);
  bool cancel(DispatchId id, double now_us);  // while queued; false: too late

  const DispatchStatus& status(DispatchId id) const;  // invalid_argument when forgotten or never there
  std::string reason(DispatchId id) const;            // why it is not launched now, in a sentence
  void forget(DispatchId id);                         // one that is over
  std::vector<DispatchId> in_flight(std::size_t lane) const;  // oldest first
  std::vector<DispatchId> ids() const;
  std::size_t lanes() const { return lanes_.size(); }
  const TaskAccounts& accounts() const { return accounts_; }

 private:
  struct Rank {
    int priority = 0;
    DispatchId id = 0;
    friend bool operator<(const Rank& a, const Rank& b) {
      return a.priority != b.priority ? a.priority > b.priority : a.id < b.id;
    }
  };
  struct Lane {
    std::set<Rank> waiting;
    std::vector<DispatchId> in_flight;
  };
  DispatchStatus& entry(DispatchId id);
  void leave(DispatchStatus& status, DispatchState state, double now_us);

  std::string device_;
  std::size_t in_flight_per_lane_;
  DispatchId last_id_ = 0;
  std::map<DispatchId, DispatchStatus> entries_;
  std::vector<Lane> lanes_;
  TaskAccounts accounts_;
  std::optional<std::string> lost_to_;
};

}  // namespace gpuforge::sched
