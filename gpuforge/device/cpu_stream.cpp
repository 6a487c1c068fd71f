#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/device/cpu_objects.h"
#include "gpuforge/device/stream_checks.h"

namespace gpuforge::device {
namespace {

void* host_pointer(Address address) {
  return reinterpret_cast<void*>(address);
}

// Event to CpuEvent, const Event to const CpuEvent.
template <typename AnyEvent>
auto& own_event(AnyEvent& event, const CpuDevice& device, std::string_view call) {
  using Own = std::conditional_t<std::is_const_v<AnyEvent>, const CpuEvent, CpuEvent>;
  auto* const own = dynamic_cast<Own*>(&event);
  GPUFORGE_CHECK(own != nullptr && &own->device() == &device,
                 "cpu: {} got an event of another device ({}); use one that this device made", call,
                 event.device().facts().name);
  return *own;
}

template <typename T>
void fill_elements(Address to, std::uint32_t pattern, std::size_t count) {
  std::fill_n(static_cast<T*>(host_pointer(to)), count, static_cast<T>(pattern));
}

}  // namespace

CpuStream::~CpuStream() {
  if (capturing_locked() && branch_ == 0) {
    capture_->finish();
    device_->capture_ended();
  }
  queue_->close();
}

Device& CpuStream::device() const {
  return *device_;
}

bool CpuStream::capturing() const {
  const std::lock_guard lock(mutex_);
  return capturing_locked();
}

void CpuStream::refuse_in_capture(std::string_view call) const {
  GPUFORGE_CHECK(!capturing(), "cpu: stream: {} is not allowed while the stream is capturing", call);
}

bool CpuStream::done() const {
  refuse_in_capture("done");
  return queue_->idle();
}

void CpuStream::synchronize() {
  refuse_in_capture("synchronize");
  queue_->wait();
  queue_->errors().throw_kept();
}

void CpuStream::submit(CpuNode node) {
  // The work may hold the last other reference and be done before this returns.
  const std::shared_ptr<Stream> self = shared_from_this();
  const std::lock_guard lock(mutex_);
  if (capturing_locked() && capture_->add(branch_, node)) return;
  queue_->push(std::move(node.work));
}

void CpuStream::run(std::shared_ptr<const CpuNodes> nodes) {
  refuse_in_capture("the launch of a graph");
  const std::shared_ptr<Stream> self = shared_from_this();
  // A node that throws does not keep the others from running, as on a GPU. The queue outlives the work on it,
  // so the reference is good.
  queue_->push([nodes = std::move(nodes), &errors = queue_->errors()] {
    for (const CpuNode& node : *nodes) errors.run(node.work);
  });
}

void CpuStream::record(Event& event) {
  CpuEvent& own = own_event(event, *device_, "record");
  const std::lock_guard lock(mutex_);
  if (capturing_locked()) {
    own.set_recording({nullptr, capture_, capture_->clock(branch_)});
    return;
  }
  auto point = std::make_shared<CpuPoint>();
  queue_->push([point] { point->reach(); });
  own.set_recording({std::move(point), nullptr, {}});
}

void CpuStream::wait(const Event& event) {
  const CpuEvent::Recording last = own_event(event, *device_, "wait").recording();
  const std::lock_guard lock(mutex_);
  if (last.capture) {
    GPUFORGE_CHECK(
        last.capture->open(),
        "cpu: stream: cannot wait for an event last recorded in a capture that is over; record it again");
    if (capturing_locked()) {
      GPUFORGE_CHECK(last.capture == capture_,
                     "cpu: stream: cannot wait for an event recorded in another capture while capturing");
      capture_->join(branch_, last.clock);
    } else {
      branch_ = last.capture->add_branch(last.clock);
      capture_ = last.capture;
    }
    return;
  }
  if (last.point == nullptr) return;
  GPUFORGE_CHECK(
      !capturing_locked(),
      "cpu: stream: waiting for an event recorded outside the capture is not allowed while capturing");
  if (!last.point->reached()) queue_->push([point = last.point] { point->wait(); });
}

void CpuStream::copy_to_device(Address to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  submit({CpuNodeKind::copy_to_device, [=] { std::memmove(host_pointer(to), from, bytes); }});
}

void CpuStream::copy_to_host(void* to, Address from, std::size_t bytes) {
  if (bytes == 0) return;
  submit({CpuNodeKind::copy_to_host, [=] { std::memmove(to, host_pointer(from), bytes); }});
}

void CpuStream::copy(Address to, Address from, std::size_t bytes) {
  if (bytes == 0) return;
  submit({CpuNodeKind::copy, [=] { std::memmove(host_pointer(to), host_pointer(from), bytes); }});
}

void CpuStream::fill(Address to, std::uint32_t pattern, std::size_t pattern_bytes, std::size_t count) {
  check_fill(to, pattern_bytes, device_->facts().name);
  if (count == 0) return;
  submit({CpuNodeKind::fill, [=] {
            if (pattern_bytes == 1) fill_elements<std::uint8_t>(to, pattern, count);
            if (pattern_bytes == 2) fill_elements<std::uint16_t>(to, pattern, count);
            if (pattern_bytes == 4) fill_elements<std::uint32_t>(to, pattern, count);
          }});
}

void CpuStream::enqueue(std::function<void()> work) {
  GPUFORGE_CHECK(work != nullptr, "cpu: stream: enqueue got an empty function");
  submit({CpuNodeKind::host_function, std::move(work)});
}

void CpuStream::launch(const Function& function, const LaunchConfig&, std::span<void* const>) {
  throw Error(ErrorCode::unsupported,
              format_text("cpu: kernel {} cannot be launched: this device runs no kernels; use a cuda device",
                          function.facts().name));
}

void CpuStream::begin_capture() {
  const std::lock_guard lock(mutex_);
  GPUFORGE_CHECK(!capturing_locked(), "cpu: stream: begin_capture on a stream that is already capturing");
  capture_ = std::make_shared<CpuCapture>();
  branch_ = 0;
  device_->capture_began();
}

std::unique_ptr<Graph> CpuStream::end_capture() {
  std::shared_ptr<CpuCapture> capture;
  {
    const std::lock_guard lock(mutex_);
    GPUFORGE_CHECK(capturing_locked(), "cpu: stream: end_capture on a stream that is not capturing");
    GPUFORGE_CHECK(
        branch_ == 0,
        "cpu: stream: end_capture on a stream that joined the capture; end it on the one that began it");
    capture = std::exchange(capture_, nullptr);
  }
  device_->capture_ended();
  std::optional<CpuNodes> nodes = capture->finish();
  GPUFORGE_CHECK(
      nodes.has_value(),
      "cpu: stream: end_capture: a stream that joined the capture has work this one did not wait for; "
      "record an event there and wait for it here first. The capture is dropped");
  return std::make_unique<CpuGraph>(device_, std::move(*nodes));
}

std::shared_ptr<const CpuNodes> CpuGraph::nodes() const {
  const std::lock_guard lock(mutex_);
  return nodes_;
}

void CpuGraph::launch(Stream& stream) {
  auto* const own = dynamic_cast<CpuStream*>(&stream);
  GPUFORGE_CHECK(own != nullptr && &own->device() == device_.get(),
                 "cpu: graph: launch got a stream of another device ({})", stream.device().facts().name);
  own->run(nodes());
}

void CpuGraph::update(const Graph& other) {
  const auto* const own = dynamic_cast<const CpuGraph*>(&other);
  GPUFORGE_CHECK(own != nullptr && own->device_ == device_,
                 "cpu: graph: update got a graph of another device");
  const std::shared_ptr<const CpuNodes> taken = own->nodes();
  const std::shared_ptr<const CpuNodes> before = nodes();
  if (!same_kinds(*before, *taken)) {
    throw Error(
        ErrorCode::unsupported,
        format_text("cpu: graph: update needs a graph of the same kinds of nodes; this one has {} nodes, the "
                    "other {}, or their kinds differ",
                    before->size(), taken->size()));
  }
  const std::lock_guard lock(mutex_);
  nodes_ = taken;
}

}  // namespace gpuforge::device
