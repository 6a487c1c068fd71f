#include "gpuforge/sched/dispatch_core.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "gpuforge/base/current_error.h"

namespace gpuforge::sched {
namespace {

// A lost context runs no host functions any more, so what is in flight is asked now and then.
constexpr std::chrono::milliseconds kPatience(50);

bool tells_failures_per_stream(const device::Device& device) {
  return device.facts().kind != device::DeviceKind::cuda;
}

}  // namespace

DispatchCore::DispatchCore(std::shared_ptr<device::Device> device, DispatchOptions options)
    : device_(std::move(device)),
      options_(std::move(options)),
      clock_(std::make_unique<DeviceClock>(device_)),
      queue_(device_->facts().name, options_.stream_priorities.size(),
             tells_failures_per_stream(*device_) ? std::min<std::size_t>(options_.in_flight_per_stream, 1)
                                                 : options_.in_flight_per_stream) {
  for (const int priority : options_.stream_priorities) {
    lanes_.push_back({device_->make_stream(priority), device_->make_stream(priority), {}});
  }
}

void DispatchCore::start() {
  try {
    director_ = std::thread([this] { direct(); });
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::unavailable,
                format_text("dispatch: the machine gives no thread for the controller of {}: {}",
                            device_->facts().name, error.what()));
  }
}

void DispatchCore::close() noexcept {
  Outbox outbox;
  {
    std::unique_lock lock(mutex_);
    closing_ = true;
    for (const DispatchId id : queue_.ids()) {
      if (queue_.cancel(id, host_clock_us())) over_.push_back(id);
    }
    settle(outbox);
    lock.unlock();
    deliver(outbox);
    lock.lock();
    drained_.wait(lock, [this] { return idle(); });
    ended_ = true;
  }
  mailbox_->wake();
  if (director_.joinable()) director_.join();
  // The last host functions have told us all, and are about to return: so that the device can go with us.
  for (const Lane& own : lanes_) {
    for (const auto& stream : {own.work, own.notices}) {
      try {
        stream->synchronize();
      } catch (const Error&) {  // a lost context; those it concerned know
      }
    }
  }
  lanes_.clear();
  clock_ = nullptr;
}

bool DispatchCore::idle() const {
  return jobs_.empty();
}

std::shared_ptr<DispatchRecord> DispatchCore::submit(DispatchRequest request) {
  GPUFORGE_CHECK(request.launch != nullptr, "dispatch: kernel {} of task '{}' has no launch function",
                 request.kernel, request.task);
  auto record = std::make_shared<DispatchRecord>();
  record->core = weak_from_this();
  Outbox outbox;
  {
    const std::lock_guard lock(mutex_);
    const DispatchId id = queue_.add({.task = request.task,
                                      .kernel = request.kernel,
                                      .config = request.config,
                                      .lane = request.stream,
                                      .priority = request.priority},
                                     host_clock_us());
    record->status = queue_.status(id);
    jobs_[id] = {std::move(request), record, nullptr, nullptr};
    pump(outbox);
  }
  deliver(outbox);
  return record;
}

bool DispatchCore::cancel(DispatchId id) {
  Outbox outbox;
  bool cancelled = false;
  {
    const std::lock_guard lock(mutex_);
    if (!jobs_.contains(id)) return false;
    cancelled = queue_.cancel(id, host_clock_us());
    if (cancelled) over_.push_back(id);
    settle(outbox);
  }
  deliver(outbox);
  return cancelled;
}

void DispatchCore::wait_all() {
  std::vector<std::shared_ptr<DispatchRecord>> records;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, job] : jobs_) records.push_back(job.record);
  }
  for (const auto& record : records) {
    std::unique_lock lock(record->mutex);
    record->changed.wait(lock, [&] { return is_over(record->status.state); });
  }
}

TaskAccounts DispatchCore::accounts() const {
  const std::lock_guard lock(mutex_);
  return queue_.accounts();
}

std::vector<FaultReport> DispatchCore::faults() const {
  const std::lock_guard lock(mutex_);
  return faults_;
}

std::string DispatchCore::reason(DispatchId id) const {
  const std::lock_guard lock(mutex_);
  return jobs_.contains(id) ? queue_.reason(id) : "over";
}

void DispatchCore::pump(Outbox& outbox) {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    while (const auto id = queue_.start(lane, host_clock_us())) launch(*id, outbox);
  }
  settle(outbox);
}

std::unique_ptr<device::Event> DispatchCore::take_event(Lane& lane) {
  if (lane.spare_events.empty()) return device_->make_event();
  std::unique_ptr<device::Event> event = std::move(lane.spare_events.back());
  lane.spare_events.pop_back();
  return event;
}

void DispatchCore::launch(DispatchId id, Outbox& outbox) {
  Job& job = jobs_.at(id);
  Lane& lane = lanes_[job.request.stream];
  try {
    job.before = take_event(lane);
    job.after = take_event(lane);
    lane.work->record(*job.before);
    job.request.launch(*lane.work);
    lane.work->record(*job.after);
    lane.notices->wait(*job.after);
    lane.notices->enqueue([mailbox = mailbox_, id] { mailbox->post(id); });
    if (queue_.in_flight(job.request.stream).size() == 1)
      mailbox_->wake();  // there is something to watch over
    const std::lock_guard lock(job.record->mutex);
    job.record->status = queue_.status(id);
  } catch (...) {
    const Error why = current_error();
    // It may have put part of its work on the stream, which uses what it keeps.
    try {
      lane.work->synchronize();
    } catch (const Error&) {
    }
    const std::optional<Error> loss = context_loss();
    loss ? lost(*loss, outbox) : failed(id, why, outbox);
  }
}

// A stream that has no error to tell has nothing to wait for either.
std::optional<Error> DispatchCore::context_loss() const {
  try {
    static_cast<void>(lanes_.front().work->done());
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

void DispatchCore::failed(DispatchId id, const Error& why, Outbox& outbox) {
  faults_.push_back(queue_.fail(id, why, host_clock_us()));
  over_.push_back(id);
  outbox.faults.push_back(faults_.back());
}

void DispatchCore::lost(const Error& why, Outbox& outbox) {
  over_ = queue_.ids();
  faults_.push_back(queue_.lose(why, host_clock_us()));
  outbox.faults.push_back(faults_.back());
}

void DispatchCore::land(DispatchId id, Outbox& outbox) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || queue_.status(id).state != DispatchState::launched) return;
  Job& job = found->second;
  Lane& lane = lanes_[job.request.stream];
  try {
    // With one in flight the stream is at rest, so this waits for nothing and what it throws is this
    // launch's.
    if (tells_failures_per_stream(*device_)) lane.work->synchronize();
    const double gpu_us = double{job.after->elapsed_ms_since(*job.before)} * 1e3;
    queue_.complete(id, clock_->host_us(*job.before), gpu_us, host_clock_us());
    over_.push_back(id);
    lane.spare_events.push_back(std::move(job.before));
    lane.spare_events.push_back(std::move(job.after));
  } catch (const Error& why) {
    const std::optional<Error> loss = context_loss();
    loss ? lost(*loss, outbox) : failed(id, why, outbox);
  }
}

void DispatchCore::look_for_losses(Outbox& outbox) {
  if (std::ranges::none_of(jobs_, [](const auto& job) { return job.second.after != nullptr; })) return;
  if (const std::optional<Error> loss = context_loss()) lost(*loss, outbox);
}

void DispatchCore::settle(Outbox& outbox) {
  for (const DispatchId id : std::exchange(over_, {})) {
    outbox.over.emplace_back(std::move(jobs_.at(id)), queue_.status(id));
    jobs_.erase(id);
    queue_.forget(id);
  }
  if (closing_ && idle()) drained_.notify_all();
}

// What was held goes before those who wait are told.
void DispatchCore::deliver(Outbox& outbox) noexcept {
  const auto call = [](const auto& function, const auto& value) {
    try {
      if (function) function(value);
    } catch (...) {  // an observer's trouble is not the launch's
    }
  };
  for (const FaultReport& report : outbox.faults) call(options_.on_fault, report);
  for (auto& [job, status] : outbox.over) {
    call(options_.on_over, status);
    job.request = {};
    const std::lock_guard lock(job.record->mutex);
    job.record->status = std::move(status);
    job.record->changed.notify_all();
  }
  outbox = {};
}

void DispatchCore::direct() {
  for (;;) {
    std::optional<std::chrono::milliseconds> patience;
    {
      const std::lock_guard lock(mutex_);
      if (ended_) return;
      if (!idle()) patience = kPatience;
    }
    const std::vector<DispatchId> notices = mailbox_->take(patience);
    Outbox outbox;
    {
      const std::lock_guard lock(mutex_);
      for (const DispatchId id : notices) land(id, outbox);
      if (notices.empty()) look_for_losses(outbox);
      pump(outbox);
    }
    deliver(outbox);
  }
}

}  // namespace gpuforge::sched
