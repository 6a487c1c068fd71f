#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/device/host_device.h"
#include "gpuforge/device/stream_checks.h"

namespace gpuforge::device {
namespace {

void* host_pointer(Address address) {
  return reinterpret_cast<void*>(address);
}

// Event to HostEvent, const Event to const HostEvent.
template <typename AnyEvent>
auto& own_event(AnyEvent& event, const HostDevice& device, std::string_view call) {
  using Own = std::conditional_t<std::is_const_v<AnyEvent>, const HostEvent, HostEvent>;
  auto* const own = dynamic_cast<Own*>(&event);
  GPUFORGE_CHECK(own != nullptr && &own->device() == &device,
                 "{}: {} got an event of another device ({}); use one that this device made", device.name(),
                 call, event.device().facts().name);
  return *own;
}

template <typename T>
void fill_elements(Address to, std::uint32_t pattern, std::size_t count) {
  std::fill_n(static_cast<T*>(host_pointer(to)), count, static_cast<T>(pattern));
}

}  // namespace

HostStream::~HostStream() {
  if (capturing_locked() && branch_ == 0) {
    capture_->finish();
    device_->capture_ended();
  }
  queue_->close();
}

Device& HostStream::device() const {
  return *device_;
}

std::uint64_t HostStream::capture_number() const {
  const std::lock_guard lock(mutex_);
  return capturing_locked() ? capture_->number() : 0;
}

void HostStream::refuse_in_capture(std::string_view call) const {
  GPUFORGE_CHECK(!capturing(), "{}: stream: {} is not allowed while the stream is capturing", device_->name(),
                 call);
}

bool HostStream::done() const {
  refuse_in_capture("done");
  return queue_->idle();
}

void HostStream::synchronize() {
  refuse_in_capture("synchronize");
  queue_->wait();
  queue_->errors().throw_kept();
}

void HostStream::submit(HostNode node) {
  // The work may hold the last other reference and be done before this returns.
  const std::shared_ptr<Stream> self = shared_from_this();
  const std::lock_guard lock(mutex_);
  if (capturing_locked() && capture_->add(branch_, node)) return;
  queue_->push(std::move(node.work));
}

void HostStream::run(std::shared_ptr<const HostNodes> nodes) {
  refuse_in_capture("the launch of a graph");
  const std::shared_ptr<Stream> self = shared_from_this();
  // A node that throws does not keep the others from running, as on a GPU. The queue outlives the work on it,
  // so the reference is good.
  queue_->push([nodes = std::move(nodes), &errors = queue_->errors()] {
    for (const HostNode& node : *nodes) errors.run(node.work);
  });
}

void HostStream::record(Event& event) {
  HostEvent& own = own_event(event, *device_, "record");
  const std::lock_guard lock(mutex_);
  if (capturing_locked()) {
    own.set_recording({nullptr, capture_, capture_->clock(branch_)});
    return;
  }
  auto point = std::make_shared<HostPoint>();
  // An event that is done and a stream that is not, with nothing behind the event, would puzzle who asks
  // both.
  queue_->push_told([point] { point->reach(); });
  own.set_recording({std::move(point), nullptr, {}});
}

void HostStream::wait(const Event& event) {
  const HostEvent::Recording last = own_event(event, *device_, "wait").recording();
  const std::lock_guard lock(mutex_);
  if (last.capture) {
    GPUFORGE_CHECK(
        last.capture->open(),
        "{}: stream: cannot wait for an event last recorded in a capture that is over; record it again",
        device_->name());
    if (capturing_locked()) {
      GPUFORGE_CHECK(last.capture == capture_,
                     "{}: stream: cannot wait for an event recorded in another capture while capturing",
                     device_->name());
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
      "{}: stream: waiting for an event recorded outside the capture is not allowed while capturing",
      device_->name());
  if (!last.point->reached()) queue_->push([point = last.point] { point->wait(); });
}

void HostStream::copy_to_device(Address to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  submit({HostNodeKind::copy_to_device, [=, &memory = device_->memory()] {
            std::memmove(host_pointer(to), from, bytes);
            memory.written(to, bytes);
          }});
}

void HostStream::copy_to_host(void* to, Address from, std::size_t bytes) {
  if (bytes == 0) return;
  submit({HostNodeKind::copy_to_host, [=, &memory = device_->memory()] {
            std::memmove(to, host_pointer(from), bytes);
            memory.written(reinterpret_cast<Address>(to), bytes);  // which may be the device's as well
          }});
}

void HostStream::copy(Address to, Address from, std::size_t bytes) {
  if (bytes == 0) return;
  submit({HostNodeKind::copy, [=, &memory = device_->memory()] {
            std::memmove(host_pointer(to), host_pointer(from), bytes);
            memory.written(to, bytes);
          }});
}

void HostStream::fill(Address to, std::uint32_t pattern, std::size_t pattern_bytes, std::size_t count) {
  check_fill(to, pattern_bytes, device_->name());
  if (count == 0) return;
  submit({HostNodeKind::fill, [=, &memory = device_->memory()] {
            if (pattern_bytes == 1) fill_elements<std::uint8_t>(to, pattern, count);
            if (pattern_bytes == 2) fill_elements<std::uint16_t>(to, pattern, count);
            if (pattern_bytes == 4) fill_elements<std::uint32_t>(to, pattern, count);
            memory.written(to, pattern_bytes * count);
          }});
}

void HostStream::enqueue(std::function<void()> work) {
  GPUFORGE_CHECK(work != nullptr, "{}: stream: enqueue got an empty function", device_->name());
  submit({HostNodeKind::host_function, std::move(work)});
}

void HostStream::launch(const Function& function, const LaunchConfig& config,
                        std::span<void* const> parameters) {
  submit({HostNodeKind::kernel, device_->prepare_launch(function, config, parameters)});
}

bool HostStream::keep_in_capture(std::shared_ptr<const void> object) {
  const std::lock_guard lock(mutex_);
  return capturing_locked() && capture_->keep(std::move(object));
}

void HostStream::begin_capture() {
  const std::lock_guard lock(mutex_);
  GPUFORGE_CHECK(!capturing_locked(), "{}: stream: begin_capture on a stream that is already capturing",
                 device_->name());
  capture_ = std::make_shared<HostCapture>(device_->capture_began());
  branch_ = 0;
}

std::unique_ptr<Graph> HostStream::end_capture() {
  std::shared_ptr<HostCapture> capture;
  {
    const std::lock_guard lock(mutex_);
    GPUFORGE_CHECK(capturing_locked(), "{}: stream: end_capture on a stream that is not capturing",
                   device_->name());
    GPUFORGE_CHECK(
        branch_ == 0,
        "{}: stream: end_capture on a stream that joined the capture; end it on the one that began it",
        device_->name());
    capture = std::exchange(capture_, nullptr);
  }
  device_->capture_ended();
  std::optional<HostNodes> nodes = capture->finish();
  // Of a capture that is dropped too: a stream that joined it may know it for long.
  KeptObjects kept = capture->take_kept();
  GPUFORGE_CHECK(
      nodes.has_value(),
      "{}: stream: end_capture: a stream that joined the capture has work this one did not wait for; "
      "record an event there and wait for it here first. The capture is dropped",
      device_->name());
  return std::make_unique<HostGraph>(device_, std::move(*nodes), std::move(kept));
}

// Nodes and what they need are one object, which launches under way share.
HostGraph::HostGraph(std::shared_ptr<HostDevice> device, HostNodes nodes, KeptObjects kept)
    : device_(std::move(device)) {
  struct Recorded {
    KeptObjects kept;
    HostNodes nodes;
  };
  auto recorded = std::make_shared<Recorded>(Recorded{std::move(kept), std::move(nodes)});
  nodes_ = std::shared_ptr<const HostNodes>(recorded, &recorded->nodes);
}

std::shared_ptr<const HostNodes> HostGraph::nodes() const {
  const std::lock_guard lock(mutex_);
  return nodes_;
}

void HostGraph::launch(Stream& stream) {
  auto* const own = dynamic_cast<HostStream*>(&stream);
  GPUFORGE_CHECK(own != nullptr && &own->device() == device_.get(),
                 "{}: graph: launch got a stream of another device ({})", device_->name(),
                 stream.device().facts().name);
  own->run(nodes());
}

void HostGraph::update(const Graph& other) {
  const auto* const own = dynamic_cast<const HostGraph*>(&other);
  GPUFORGE_CHECK(own != nullptr && own->device_ == device_, "{}: graph: update got a graph of another device",
                 device_->name());
  const std::shared_ptr<const HostNodes> taken = own->nodes();
  const std::shared_ptr<const HostNodes> before = nodes();
  if (!same_kinds(*before, *taken)) {
    throw Error(
        ErrorCode::unsupported,
        format_text("{}: graph: update needs a graph of the same kinds of nodes; this one has {} nodes, the "
                    "other {}, or their kinds differ",
                    device_->name(), before->size(), taken->size()));
  }
  const std::lock_guard lock(mutex_);
  nodes_ = taken;
}

}  // namespace gpuforge::device
