#include "gpuforge/sched/dispatch_controller.h"

#include <utility>

#include "gpuforge/sched/dispatch_core.h"

namespace gpuforge::sched {

DispatchRecord& Dispatch::record() const {
  GPUFORGE_CHECK(record_ != nullptr,
                 "dispatch: this handle is of no launch; a controller makes those that are");
  return *record_;
}

DispatchStatus Dispatch::status() const {
  const std::lock_guard lock(record().mutex);
  return record_->status;
}

DispatchState Dispatch::wait() const {
  std::unique_lock lock(record().mutex);
  record_->changed.wait(lock, [this] { return is_over(record_->status.state); });
  if (record_->status.failure) throw *record_->status.failure;
  return record_->status.state;
}

bool Dispatch::cancel() const {
  const std::shared_ptr<DispatchCore> core = record().core.lock();
  return core != nullptr && core->cancel(status().id);
}

ProfileSpan profile_span(const DispatchStatus& status) {
  ProfileSpan span;
  span.name = status.kernel;
  if (status.state != DispatchState::completed) span.name += format_text(" ({})", name(status.state));
  span.category = "kernel";
  span.track = format_text("dispatch stream {}", status.lane);
  // One that did not complete has no time on the device; it is shown where it was given up.
  span.start_us = status.started_us > 0 ? status.started_us : status.over_us;
  span.duration_us = status.gpu_us;
  return span;
}

DispatchController::DispatchController(std::shared_ptr<device::Device> device, DispatchOptions options) {
  GPUFORGE_CHECK(device != nullptr, "dispatch: a controller needs a device, and none was given");
  core_ = std::make_shared<DispatchCore>(std::move(device), std::move(options));
  core_->start();
}

DispatchController::~DispatchController() {
  core_->close();
}

Dispatch DispatchController::submit(DispatchRequest request) {
  return Dispatch(core_->submit(std::move(request)));
}

void DispatchController::wait_all() {
  core_->wait_all();
}

TaskAccounts DispatchController::accounts() const {
  return core_->accounts();
}

std::vector<FaultReport> DispatchController::faults() const {
  return core_->faults();
}

std::string DispatchController::reason(const Dispatch& dispatch) const {
  const DispatchStatus status = dispatch.status();
  return is_over(status.state) ? std::string(name(status.state)) : core_->reason(status.id);
}

device::Device& DispatchController::device() const {
  return core_->device();
}

}  // namespace gpuforge::sched
