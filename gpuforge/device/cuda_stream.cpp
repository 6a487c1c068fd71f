#include <array>
#include <type_traits>
#include <utility>

#include "gpuforge/device/cuda_module.h"
#include "gpuforge/device/cuda_objects.h"
#include "gpuforge/device/stream_checks.h"

namespace gpuforge::device {
namespace {

using cuda::Result;

// Event to CudaEvent, const Event to const CudaEvent.
template <typename AnyEvent>
auto& own_event(AnyEvent& event, const Device& device, std::string_view call) {
  using Own = std::conditional_t<std::is_const_v<AnyEvent>, const CudaEvent, CudaEvent>;
  auto* const own = dynamic_cast<Own*>(&event);
  GPUFORGE_CHECK(own != nullptr && &own->device() == &device,
                 "{}: {} got an event of another device ({}); use one that this device made",
                 device.facts().name, call, event.device().facts().name);
  return *own;
}

// What a stream needs until its work is done.
struct StreamNeeds {
  std::shared_ptr<CudaDevice> device;
  std::shared_ptr<const void> part;
};

void release_needs(void* needs) noexcept {
  const HostFunctionScope scope;
  delete static_cast<StreamNeeds*>(needs);
}

}  // namespace

CudaStream& own_stream(Stream& stream, const Device& device, std::string_view call) {
  auto* const own = dynamic_cast<CudaStream*>(&stream);
  GPUFORGE_CHECK(own != nullptr && &own->device() == &device,
                 "{}: {} got a stream of another device ({}); use one that this device made",
                 device.facts().name, call, stream.device().facts().name);
  return *own;
}

CudaStreamOwner::CudaStreamOwner(std::shared_ptr<CudaDevice> kept_device, cuda::RawStream raw,
                                 std::shared_ptr<const void> kept_part, bool is_adopted)
    : device(std::move(kept_device)),
      part(std::move(kept_part)),
      stream(device->own<cuda::StreamHandle>(raw)),
      adopted(is_adopted) {}

CudaStreamOwner::~CudaStreamOwner() {
  if (adopted) {
    static_cast<void>(stream.release());
    return;
  }
  try {
    const cuda::Driver& driver = device->driver();
    const CurrentContext scope = device->current();
    if (driver.stream_query.raw(stream.get()) != Result::not_ready) return;
    auto kept = std::make_unique<StreamNeeds>(device, part);
    if (driver.launch_host_func.raw(stream.get(), release_needs, kept.get()) == Result::success) {
      static_cast<void>(kept.release());  // release_needs deletes it
    }
  } catch (...) {  // without it the context may end before the work does
  }
}

CudaStream::CudaStream(std::shared_ptr<CudaStreamOwner> owner, std::shared_ptr<WorkErrors> errors)
    : owner_(std::move(owner)),
      raw_(owner_->stream.get()),
      errors_(std::move(errors)),
      text_("stream of " + owner_->device->name()) {}

CudaStream::~CudaStream() {
  try {
    if (const std::shared_ptr<CudaCapture> open_capture = capture()) {
      if (capture_origin_) {
        static_cast<void>(end_capture());
      } else {
        open_capture->keep(owner_);
      }
    }
  } catch (...) {  // the capture is dropped either way
  }
  retire(std::move(owner_));
}

void CudaStream::refuse_in_capture(std::string_view call) const {
  GPUFORGE_CHECK(capture() == nullptr, "{}: stream: {} is not allowed while the stream is capturing",
                 owner_->device->name(), call);
}

bool CudaStream::done() const {
  refuse_in_capture("done");
  const CurrentContext scope = owner_->device->current();
  const Result result = driver().stream_query.raw(raw_);
  if (result == Result::success || result == Result::not_ready) return result == Result::success;
  throw Error(ErrorCode::cuda, format_text("{}: cuStreamQuery: {}", text_, driver().describe(result)));
}

void CudaStream::synchronize() {
  refuse_in_capture("synchronize");
  const CurrentContext scope = owner_->device->current();
  driver().stream_synchronize(text_, raw_);
  errors_->throw_kept();
}

void CudaStream::record(Event& event) {
  CudaEvent& own = own_event(event, *owner_->device, "record");
  std::shared_ptr<CudaCapture> open_capture = capture();
  const CurrentContext scope = owner_->device->current();
  driver().event_record(text_, own.raw(), raw_);
  own.set_recording({true, std::move(open_capture)});
}

void CudaStream::wait(const Event& event) {
  const CudaEvent& own = own_event(event, *owner_->device, "wait");
  const CudaEvent::Recording last = own.recording();
  if (!last.recorded) return;
  const std::shared_ptr<CudaCapture> mine = capture();
  const std::string& device_name = owner_->device->name();
  if (last.capture) {
    GPUFORGE_CHECK(
        last.capture->open(),
        "{}: stream: cannot wait for an event last recorded in a capture that is over; record it again",
        device_name);
    GPUFORGE_CHECK(mine == nullptr || mine == last.capture,
                   "{}: stream: cannot wait for an event recorded in another capture while capturing",
                   device_name);
  } else {
    GPUFORGE_CHECK(
        mine == nullptr,
        "{}: stream: waiting for an event recorded outside the capture is not allowed while capturing",
        device_name);
  }
  const CurrentContext scope = owner_->device->current();
  driver().stream_wait_event(text_, raw_, own.raw(), cuda::EventWaitFlags::none);
  if (last.capture && mine == nullptr) {
    const std::lock_guard lock(mutex_);
    capture_ = last.capture;
    capture_origin_ = false;
  }
}

void CudaStream::copy_to_device(Address to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const CurrentContext scope = owner_->device->current();
  driver().memcpy_htod_async(text_, to, from, bytes, raw_);
}

void CudaStream::copy_to_host(void* to, Address from, std::size_t bytes) {
  if (bytes == 0) return;
  const CurrentContext scope = owner_->device->current();
  driver().memcpy_dtoh_async(text_, to, from, bytes, raw_);
}

void CudaStream::copy(Address to, Address from, std::size_t bytes) {
  if (bytes == 0) return;
  const CurrentContext scope = owner_->device->current();
  driver().memcpy_dtod_async(text_, to, from, bytes, raw_);
}

void CudaStream::fill(Address to, std::uint32_t pattern, std::size_t pattern_bytes, std::size_t count) {
  check_fill(to, pattern_bytes, owner_->device->name());
  if (count == 0) return;
  const CurrentContext scope = owner_->device->current();
  switch (pattern_bytes) {
    case 1:
      driver().memset_d8_async(text_, to, static_cast<unsigned char>(pattern), count, raw_);
      break;
    case 2:
      driver().memset_d16_async(text_, to, static_cast<unsigned short>(pattern), count, raw_);
      break;
    default:
      driver().memset_d32_async(text_, to, pattern, count, raw_);
  }
}

void CudaStream::enqueue(std::function<void()> work) {
  GPUFORGE_CHECK(work != nullptr, "{}: stream: enqueue got an empty function", owner_->device->name());
  // The work may hold the last other reference and be done before this returns.
  const std::shared_ptr<Stream> self = shared_from_this();
  const CurrentContext scope = owner_->device->current();
  if (const std::shared_ptr<CudaCapture> open_capture = capture()) {
    driver().launch_host_func(text_, raw_, run_again, open_capture->add(std::move(work)));
    return;
  }
  auto host_work = std::make_unique<HostWork>(HostWork{std::move(work), errors_});
  driver().launch_host_func(text_, raw_, run_and_delete, host_work.get());
  static_cast<void>(host_work.release());  // run_and_delete has it, and may have deleted it already
}

// The hot path: no allocation, no text unless something fails.
void CudaStream::launch(const Function& function, const LaunchConfig& config,
                        std::span<void* const> parameters) {
  const CudaDevice& own = *owner_->device;
  const auto* const kernel = dynamic_cast<const CudaFunction*>(&function);
  GPUFORGE_CHECK(kernel != nullptr && &kernel->device() == &own, "{}: launch got kernel {} of another device",
                 own.name(), function.facts().name);
  const FunctionFacts& facts = kernel->facts();
  check_launch(config, facts, own.facts().launch, own.name());
  GPUFORGE_CHECK(!facts.parameters_known || parameters.size() == facts.parameters.size(),
                 "{}: kernel {} has {} parameters, {} arguments were given", own.name(), facts.name,
                 facts.parameters.size(), parameters.size());

  const CurrentContext scope = own.current();
  kernel->allow_dynamic_shared(config.dynamic_shared_bytes);
  const auto object = [&] {
    return format_text("kernel {} with grid {}, block {}, {} bytes of dynamic shared memory on {}",
                       facts.name, to_string(config.grid), to_string(config.block),
                       config.dynamic_shared_bytes, own.name());
  };
  const auto shared_bytes = static_cast<unsigned>(config.dynamic_shared_bytes);
  void** const arguments = const_cast<void**>(parameters.data());  // the driver only reads it
  const bool clustered = config.cluster != Dim3{};
  if (!clustered && !config.cooperative && !config.programmatic) {
    driver().launch_kernel(object, kernel->raw(), config.grid.x, config.grid.y, config.grid.z, config.block.x,
                           config.block.y, config.block.z, shared_bytes, raw_, arguments, nullptr);
    return;
  }

  std::array<cuda::LaunchAttribute, 3> attributes;
  unsigned count = 0;
  if (clustered) {
    kernel->allow_cluster(config.cluster);
    attributes[count].id = cuda::LaunchAttributeId::cluster_dimension;
    attributes[count++].value.cluster = {config.cluster.x, config.cluster.y, config.cluster.z};
  }
  if (config.cooperative) {
    attributes[count].id = cuda::LaunchAttributeId::cooperative;
    attributes[count++].value.cooperative = 1;
  }
  if (config.programmatic) {
    attributes[count].id = cuda::LaunchAttributeId::programmatic_stream_serialization;
    attributes[count++].value.programmatic_stream_serialization = 1;
  }
  const cuda::LaunchConfig driver_config = {config.grid.x,     config.grid.y,  config.grid.z, config.block.x,
                                            config.block.y,    config.block.z, shared_bytes,  raw_,
                                            attributes.data(), count};
  const Result result = driver().launch_kernel_ex.raw(&driver_config, kernel->raw(), arguments, nullptr);
  if (result == Result::success) return;
  if (result == Result::cooperative_launch_too_large) {
    const int per_multiprocessor =
        kernel->max_active_blocks(static_cast<int>(config.block.count()), config.dynamic_shared_bytes);
    throw Error(
        ErrorCode::invalid_argument,
        format_text("{}: kernel {}: a cooperative launch needs all {} blocks of grid {} at once, but only {} "
                    "fit: {} on each of {} multiprocessors",
                    own.name(), facts.name, config.grid.count(), to_string(config.grid),
                    static_cast<std::int64_t>(per_multiprocessor) * own.facts().multiprocessors,
                    per_multiprocessor, own.facts().multiprocessors));
  }
  throw Error(ErrorCode::cuda, format_text("cuLaunchKernelEx: {} [{}]", driver().describe(result), object()));
}

}  // namespace gpuforge::device
