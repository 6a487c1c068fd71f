#include <utility>

#include "gpuforge/device/cuda_objects.h"

namespace gpuforge::device {

using cuda::Result;

CudaEvent::CudaEvent(std::shared_ptr<CudaDevice> device, bool timing)
    : owner_{std::move(device), {}}, timing_(timing) {
  const CudaDevice& own = *owner_.device;
  const CurrentContext scope = own.current();
  cuda::RawEvent raw = nullptr;
  own.driver().event_create(own.name(), &raw,
                            timing ? cuda::EventFlags::none : cuda::EventFlags::disable_timing);
  owner_.event = own.own<cuda::EventHandle>(raw);
}

CudaEvent::~CudaEvent() {
  retire(std::move(owner_));
}

CudaEvent::Recording CudaEvent::recording() const {
  const std::lock_guard lock(mutex_);
  return recording_;
}

void CudaEvent::set_recording(Recording recording) {
  const std::lock_guard lock(mutex_);
  std::swap(recording_, recording);
}

bool CudaEvent::recorded_outside_capture(std::string_view call) const {
  const Recording last = recording();
  GPUFORGE_CHECK(last.capture == nullptr,
                 "{}: event: {} is not allowed after a record in a capture; record it outside one first",
                 owner_.device->name(), call);
  return last.recorded;
}

bool CudaEvent::done() const {
  if (!recorded_outside_capture("done")) return true;
  const CudaDevice& own = *owner_.device;
  const CurrentContext scope = own.current();
  const Result result = own.driver().event_query.raw(raw());
  if (result == Result::success || result == Result::not_ready) return result == Result::success;
  throw Error(ErrorCode::cuda,
              format_text("{}: event: cuEventQuery: {}", own.name(), own.driver().describe(result)));
}

void CudaEvent::synchronize() {
  if (!recorded_outside_capture("synchronize")) return;
  const CudaDevice& own = *owner_.device;
  const CurrentContext scope = own.current();
  own.driver().event_synchronize([&] { return "event of " + own.name(); }, raw());
}

float CudaEvent::elapsed_ms_since(const Event& earlier) const {
  const CudaDevice& own = *owner_.device;
  const auto* const other = dynamic_cast<const CudaEvent*>(&earlier);
  GPUFORGE_CHECK(other != nullptr && &other->device() == &own,
                 "{}: elapsed_ms_since got an event of another device ({})", own.name(),
                 earlier.device().facts().name);
  GPUFORGE_CHECK(timing_ && other->timing_,
                 "{}: elapsed_ms_since needs two events made with timing; {} was made without", own.name(),
                 timing_ ? "the earlier one" : "the later one");
  const bool start_recorded = other->recorded_outside_capture("elapsed_ms_since");
  const bool end_recorded = recorded_outside_capture("elapsed_ms_since");
  GPUFORGE_CHECK(start_recorded && end_recorded, "{}: elapsed_ms_since: the {} event was never recorded",
                 own.name(), start_recorded ? "later" : "earlier");
  const CurrentContext scope = own.current();
  float ms = 0;
  const Result result = own.driver().event_elapsed_time.raw(&ms, other->raw(), raw());
  GPUFORGE_CHECK(result != Result::not_ready,
                 "{}: elapsed_ms_since: the {} event is not done yet; synchronize first", own.name(),
                 other->done() ? "later" : "earlier");
  if (result == Result::success) return ms;
  throw Error(ErrorCode::cuda,
              format_text("{}: event: cuEventElapsedTime: {}", own.name(), own.driver().describe(result)));
}

}  // namespace gpuforge::device
