#include <utility>

#include "gpuforge/device/cuda_graph.h"
#include "gpuforge/device/cuda_objects.h"

namespace gpuforge::device {

using cuda::Result;

bool CudaCapture::open() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

HostWork* CudaCapture::add(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  GPUFORGE_CHECK(open_, "stream: another thread ended the capture while work was recorded in it");
  work_->functions.push_back(std::make_unique<HostWork>(HostWork{std::move(work), work_->errors}));
  return work_->functions.back().get();
}

bool CudaCapture::keep_object(std::shared_ptr<const void> object) {
  const std::lock_guard lock(mutex_);
  if (!open_) return false;
  work_->kept.push_back(std::move(object));
  return true;
}

bool CudaCapture::free_later(Address address, std::shared_ptr<CudaStreamOwner> stream) {
  const std::lock_guard lock(mutex_);
  if (!open_) return false;
  later_.push_back({address, std::move(stream)});
  return true;
}

std::shared_ptr<const RecordedWork> CudaCapture::close() {
  std::vector<Later> later;
  std::shared_ptr<RecordedWork> work;
  {
    const std::lock_guard lock(mutex_);
    open_ = false;
    later.swap(later_);
    work = std::move(work_);
  }
  for (const Later& item : later) item.stream->device->free_now(item.address, item.stream->stream.get());
  return work;
}

bool CudaStream::keep_in_capture(std::shared_ptr<const void> object) {
  const std::shared_ptr<CudaCapture> mine = capture();
  return mine != nullptr && mine->keep_object(std::move(object));
}

std::shared_ptr<CudaCapture> CudaStream::capture() const {
  const std::lock_guard lock(mutex_);
  return capture_ != nullptr && capture_->open() ? capture_ : nullptr;
}

std::uint64_t CudaStream::capture_number() const {
  const std::shared_ptr<CudaCapture> mine = capture();
  return mine != nullptr ? mine->number() : 0;
}

// Relaxed mode: streams here never wait for the legacy stream, so what other modes forbid to the capturing
// thread (an event's query, pinned memory, loading a module) is harmless and stays allowed.
void CudaStream::begin_capture() {
  CudaDevice& own = *owner_->device;
  GPUFORGE_CHECK(capture() == nullptr, "{}: stream: begin_capture on a stream that is already capturing",
                 own.name());
  const CurrentContext scope = own.current();
  driver().stream_begin_capture(text_, raw_, cuda::CaptureMode::relaxed);
  auto fresh = std::make_shared<CudaCapture>(own.name(), own.capture_began());
  const std::lock_guard lock(mutex_);
  capture_ = std::move(fresh);
  capture_origin_ = true;
}

std::unique_ptr<Graph> CudaStream::end_capture() {
  CudaDevice& own = *owner_->device;
  std::shared_ptr<CudaCapture> ended = capture();
  GPUFORGE_CHECK(ended != nullptr, "{}: stream: end_capture on a stream that is not capturing", own.name());
  {
    const std::lock_guard lock(mutex_);
    GPUFORGE_CHECK(
        capture_origin_,
        "{}: stream: end_capture on a stream that joined the capture; end it on the one that began it",
        own.name());
    capture_ = nullptr;
    capture_origin_ = false;
  }
  const CurrentContext scope = own.current();
  auto recorded = std::make_shared<CudaRecordedGraph>();
  recorded->device = owner_->device;
  cuda::RawGraph raw_graph = nullptr;
  const Result result = driver().stream_end_capture.raw(raw_, &raw_graph);
  recorded->graph = own.own<cuda::GraphHandle>(raw_graph);
  own.capture_ended();
  recorded->work = ended->close();

  GPUFORGE_CHECK(
      result != Result::stream_capture_unjoined,
      "{}: stream: end_capture: a stream that joined the capture has work this one did not wait for; "
      "record an event there and wait for it here first. The capture is dropped",
      own.name());
  if (result != Result::success || raw_graph == nullptr) {
    throw Error(ErrorCode::cuda, format_text("{}: stream: end_capture: {}. The capture is dropped",
                                             own.name(), driver().describe(result)));
  }
  driver().graph_get_nodes(text_, raw_graph, nullptr, &recorded->node_count);
  return std::make_unique<CudaGraph>(std::move(recorded));
}

}  // namespace gpuforge::device
