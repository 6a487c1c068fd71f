// The inside of the dispatch controller. Not installed. One thread, the director, reads what host functions
// post and launches what comes next; callers launch as well. Host functions touch the mailbox alone.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gpuforge/base/mailbox.h"
#include "gpuforge/context/device_clock.h"
#include "gpuforge/sched/dispatch_controller.h"

namespace gpuforge::sched {

// What a handle sees; the last status stays when the controller is gone.
struct DispatchRecord {
  std::mutex mutex;
  std::condition_variable changed;
  DispatchStatus status;
  std::weak_ptr<DispatchCore> core;
};

class DispatchCore : public std::enable_shared_from_this<DispatchCore> {
 public:
  DispatchCore(std::shared_ptr<device::Device> device, DispatchOptions options);
  void start();
  void close() noexcept;
  std::shared_ptr<DispatchRecord> submit(DispatchRequest request);
  bool cancel(DispatchId id);
  void wait_all();
  TaskAccounts accounts() const;
  std::vector<FaultReport> faults() const;
  std::string reason(DispatchId id) const;
  device::Device& device() const { return *device_; }

 private:
  struct Job {
    DispatchRequest request;
    std::shared_ptr<DispatchRecord> record;
    std::unique_ptr<device::Event> before, after;
  };
  struct Lane {
    std::shared_ptr<device::Stream> work, notices;
    std::vector<std::unique_ptr<device::Event>> spare_events;
  };
  struct Outbox {
    std::vector<std::pair<Job, DispatchStatus>> over;
    std::vector<FaultReport> faults;
  };

  // With the lock held:
  void pump(Outbox& outbox);
  void launch(DispatchId id, Outbox& outbox);
  void land(DispatchId id, Outbox& outbox);
  void failed(DispatchId id, const Error& why, Outbox& outbox);
  void lost(const Error& why, Outbox& outbox);
  void look_for_losses(Outbox& outbox);
  void settle(Outbox& outbox);
  std::optional<Error> context_loss() const;
  std::unique_ptr<device::Event> take_event(Lane& lane);
  bool idle() const;
  // Without:
  void deliver(Outbox& outbox) noexcept;
  void direct();

  const std::shared_ptr<device::Device> device_;
  const DispatchOptions options_;
  const std::shared_ptr<Mailbox<DispatchId>> mailbox_ = std::make_shared<Mailbox<DispatchId>>();
  std::unique_ptr<DeviceClock> clock_;
  mutable std::mutex mutex_;
  std::condition_variable drained_;
  DispatchQueue queue_;
  std::vector<Lane> lanes_;
  std::map<DispatchId, Job> jobs_;
  std::vector<DispatchId> over_;  // in the queue's books, not yet out of ours
  std::vector<FaultReport> faults_;
  bool closing_ = false;
  bool ended_ = false;
  std::thread director_;
};

}  // namespace gpuforge::sched
