#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/device/host_device.h"

namespace gpuforge::device {

void HostPoint::reach() {
  {
    const std::lock_guard lock(mutex_);
    time_ = std::chrono::steady_clock::now();
    reached_ = true;
  }
  changed_.notify_all();
}

bool HostPoint::reached() const {
  const std::lock_guard lock(mutex_);
  return reached_;
}

void HostPoint::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return reached_; });
}

std::chrono::steady_clock::time_point HostPoint::time() const {
  const std::lock_guard lock(mutex_);
  return time_;
}

Device& HostEvent::device() const {
  return *device_;
}

HostEvent::Recording HostEvent::recording() const {
  const std::lock_guard lock(mutex_);
  return recording_;
}

void HostEvent::set_recording(Recording recording) {
  const std::lock_guard lock(mutex_);
  std::swap(recording_, recording);
}

std::shared_ptr<HostPoint> HostEvent::point_outside_capture(std::string_view call) const {
  Recording last = recording();
  GPUFORGE_CHECK(last.capture == nullptr,
                 "{}: event: {} is not allowed after a record in a capture; record it outside one first",
                 device_->name(), call);
  return std::move(last.point);
}

bool HostEvent::done() const {
  const std::shared_ptr<HostPoint> point = point_outside_capture("done");
  return point == nullptr || point->reached();
}

void HostEvent::synchronize() {
  if (const std::shared_ptr<HostPoint> point = point_outside_capture("synchronize")) point->wait();
}

float HostEvent::elapsed_ms_since(const Event& earlier) const {
  const auto* const other = dynamic_cast<const HostEvent*>(&earlier);
  GPUFORGE_CHECK(other != nullptr && other->device_ == device_,
                 "{}: elapsed_ms_since got an event of another device ({})", device_->name(),
                 earlier.device().facts().name);
  GPUFORGE_CHECK(timing_ && other->timing_,
                 "{}: elapsed_ms_since needs two events made with timing; {} was made without",
                 device_->name(), timing_ ? "the earlier one" : "the later one");
  const std::shared_ptr<HostPoint> start = other->point_outside_capture("elapsed_ms_since");
  const std::shared_ptr<HostPoint> end = point_outside_capture("elapsed_ms_since");
  GPUFORGE_CHECK(start != nullptr && end != nullptr, "{}: elapsed_ms_since: the {} event was never recorded",
                 device_->name(), start == nullptr ? "earlier" : "later");
  GPUFORGE_CHECK(start->reached() && end->reached(),
                 "{}: elapsed_ms_since: the {} event is not done yet; synchronize first", device_->name(),
                 start->reached() ? "later" : "earlier");
  return std::chrono::duration<float, std::milli>(end->time() - start->time()).count();
}

}  // namespace gpuforge::device
