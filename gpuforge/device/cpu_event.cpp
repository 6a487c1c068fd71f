#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/device/cpu_objects.h"

namespace gpuforge::device {

void CpuPoint::reach() {
  {
    const std::lock_guard lock(mutex_);
    time_ = std::chrono::steady_clock::now();
    reached_ = true;
  }
  changed_.notify_all();
}

bool CpuPoint::reached() const {
  const std::lock_guard lock(mutex_);
  return reached_;
}

void CpuPoint::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return reached_; });
}

std::chrono::steady_clock::time_point CpuPoint::time() const {
  const std::lock_guard lock(mutex_);
  return time_;
}

Device& CpuEvent::device() const {
  return *device_;
}

CpuEvent::Recording CpuEvent::recording() const {
  const std::lock_guard lock(mutex_);
  return recording_;
}

void CpuEvent::set_recording(Recording recording) {
  const std::lock_guard lock(mutex_);
  std::swap(recording_, recording);
}

std::shared_ptr<CpuPoint> CpuEvent::point_outside_capture(std::string_view call) const {
  Recording last = recording();
  GPUFORGE_CHECK(last.capture == nullptr,
                 "cpu: event: {} is not allowed after a record in a capture; record it outside one first",
                 call);
  return std::move(last.point);
}

bool CpuEvent::done() const {
  const std::shared_ptr<CpuPoint> point = point_outside_capture("done");
  return point == nullptr || point->reached();
}

void CpuEvent::synchronize() {
  if (const std::shared_ptr<CpuPoint> point = point_outside_capture("synchronize")) point->wait();
}

float CpuEvent::elapsed_ms_since(const Event& earlier) const {
  const auto* const other = dynamic_cast<const CpuEvent*>(&earlier);
  GPUFORGE_CHECK(other != nullptr && other->device_ == device_,
                 "cpu: elapsed_ms_since got an event of another device ({})", earlier.device().facts().name);
  GPUFORGE_CHECK(timing_ && other->timing_,
                 "cpu: elapsed_ms_since needs two events made with timing; {} was made without",
                 timing_ ? "the earlier one" : "the later one");
  const std::shared_ptr<CpuPoint> start = other->point_outside_capture("elapsed_ms_since");
  const std::shared_ptr<CpuPoint> end = point_outside_capture("elapsed_ms_since");
  GPUFORGE_CHECK(start != nullptr && end != nullptr, "cpu: elapsed_ms_since: the {} event was never recorded",
                 start == nullptr ? "earlier" : "later");
  GPUFORGE_CHECK(start->reached() && end->reached(),
                 "cpu: elapsed_ms_since: the {} event is not done yet; synchronize first",
                 start->reached() ? "later" : "earlier");
  return std::chrono::duration<float, std::milli>(end->time() - start->time()).count();
}

}  // namespace gpuforge::device
