// The classes of the cuda device: itself, its streams and events. Modules and graphs have their own headers.
// Not installed.
#pragma once

#include <atomic>
#include <bit>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/base/error.h"
#include "gpuforge/cuda/driver.h"
#include "gpuforge/cuda/handle.h"
#include "gpuforge/device/cuda_host_work.h"
#include "gpuforge/device/device.h"

namespace gpuforge::device {

struct CudaStreamOwner;
class CudaVirtualMemory;

// Makes the device's context current for a while. A thread that has none keeps ours; one that has another's
// (a program that uses several GPUs, or the CUDA runtime) gets it back.
class CurrentContext {
 public:
  CurrentContext(const cuda::Driver& driver, cuda::RawContext context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const cuda::Driver* pushed_on_ = nullptr;
};

// The primary context, and the pool whose kept memory goes back with it: a pool outlives its context.
struct CudaContextOwner {
  CudaContextOwner(std::shared_ptr<const cuda::Driver> kept_driver, cuda::RawDevice device,
                   const std::string& device_name);
  ~CudaContextOwner();
  CudaContextOwner(const CudaContextOwner&) = delete;
  CudaContextOwner& operator=(const CudaContextOwner&) = delete;

  const std::shared_ptr<const cuda::Driver> driver;
  cuda::PrimaryContextHandle context;
  cuda::RawMemoryPool pool = nullptr;  // none: memory is not stream-ordered
};

class CudaDevice final : public Device {
 public:
  CudaDevice(std::shared_ptr<const cuda::Driver> driver, DeviceFacts facts);
  ~CudaDevice() override;

  const DeviceFacts& facts() const override { return facts_; }
  MemoryInfo memory_info() const override;
  Address allocate(std::size_t bytes, Stream& stream) override;
  void free(Address address, Stream& stream) noexcept override;
  void* allocate_pinned(std::size_t bytes) override;
  void free_pinned(void* address) noexcept override;
  VirtualMemory* virtual_memory() override;
  std::vector<std::shared_ptr<ComputePart>> split_compute(std::span<const double> shares) override;
  std::shared_ptr<Stream> make_stream(int priority) override;
  std::shared_ptr<Stream> adopt_stream(std::uintptr_t native_handle) override;
  std::unique_ptr<Event> make_event(bool timing) override;
  std::shared_ptr<Module> load_module(std::span<const std::byte> image, std::string_view name) override;
  bool capturing() const override { return open_captures_ > 0; }
  void synchronize() override;

  const cuda::Driver& driver() const { return *driver_; }
  CurrentContext current() const { return {*driver_, context_}; }
  const std::string& name() const { return facts_.name; }
  // An owner of a driver object, destroyed with this device's context current.
  template <typename HandleType>
  HandleType own(auto raw) const {
    return HandleType(raw, {driver_, context_});
  }
  // In a green context, which `kept` keeps; nullptr: on all multiprocessors.
  std::shared_ptr<Stream> make_stream_in(cuda::RawGreenContext context, int priority,
                                         std::shared_ptr<const void> kept);
  void free_now(Address address, cuda::RawStream stream) const noexcept;
  // Gives back what the driver's pool keeps unused; false when there is no pool.
  bool trim_pool() const;
  std::shared_ptr<Stream> make_stream_of(std::shared_ptr<CudaStreamOwner> owner);
  std::shared_ptr<CudaDevice> self() { return std::static_pointer_cast<CudaDevice>(shared_from_this()); }
  // Returns its number.
  std::uint64_t capture_began() {
    ++open_captures_;
    return ++captures_;
  }
  void capture_ended() { --open_captures_; }

 private:
  const std::shared_ptr<const cuda::Driver> driver_;
  const DeviceFacts facts_;
  const std::string memory_text_;
  std::unique_ptr<CudaContextOwner> owner_;
  cuda::RawContext context_ = nullptr;
  cuda::RawMemoryPool pool_ = nullptr;
  int least_priority_ = 0;     // the driver counts downwards:
  int greatest_priority_ = 0;  // the most urgent is the lowest
  std::atomic<int> open_captures_ = 0;
  std::atomic<std::uint64_t> captures_ = 0;
  std::mutex mutex_;
  std::vector<std::weak_ptr<WorkErrors>> stream_errors_;
  std::map<std::uintptr_t, std::weak_ptr<Stream>> adopted_streams_;
  std::unique_ptr<CudaVirtualMemory> virtual_memory_;
};

// A driver's stream and the device it needs. Destroyed with work queued, it leaves a last host function
// behind that keeps the device, so that the context outlives the work.
struct CudaStreamOwner {
  // `adopted`: somebody else destroys it.
  CudaStreamOwner(std::shared_ptr<CudaDevice> kept_device, cuda::RawStream raw,
                  std::shared_ptr<const void> kept_part, bool is_adopted = false);
  ~CudaStreamOwner();
  CudaStreamOwner(const CudaStreamOwner&) = delete;
  CudaStreamOwner& operator=(const CudaStreamOwner&) = delete;

  const std::shared_ptr<CudaDevice> device;
  const std::shared_ptr<const void> part;  // whose multiprocessors it has; nothing: all
  cuda::StreamHandle stream;
  const bool adopted;
};

// One capture under way. The driver invalidates a capture at the first call it does not allow, so which
// streams and events belong to it is followed here and such calls are refused before they reach the driver.
// Thread-safe.
class CudaCapture {
 public:
  CudaCapture(const std::string& device_name, std::uint64_t number)
      : number_(number), work_(std::make_shared<RecordedWork>(device_name)) {}

  std::uint64_t number() const { return number_; }

  bool open() const;
  bool keep_object(std::shared_ptr<const void> object);
  // The closure's place, good for as long as the recording.
  HostWork* add(std::function<void()> work);
  // Memory freed, or a stream destroyed, during the capture: done when it is over. False when it already is.
  bool free_later(Address address, std::shared_ptr<CudaStreamOwner> stream);
  bool keep(std::shared_ptr<CudaStreamOwner> stream) { return free_later(0, std::move(stream)); }
  // After the driver has ended it.
  std::shared_ptr<const RecordedWork> close();

 private:
  struct Later {
    Address address;
    std::shared_ptr<CudaStreamOwner> stream;
  };
  const std::uint64_t number_;
  mutable std::mutex mutex_;
  bool open_ = true;
  std::shared_ptr<RecordedWork> work_;
  std::vector<Later> later_;
};

class CudaEvent final : public Event {
 public:
  CudaEvent(std::shared_ptr<CudaDevice> device, bool timing);
  ~CudaEvent() override;

  Device& device() const override { return *owner_.device; }
  bool done() const override;
  void synchronize() override;
  float elapsed_ms_since(const Event& earlier) const override;

  cuda::RawEvent raw() const { return owner_.event.get(); }
  struct Recording {
    bool recorded = false;
    std::shared_ptr<CudaCapture> capture;  // nothing when it was outside of one
  };
  Recording recording() const;
  void set_recording(Recording recording);

 private:
  bool recorded_outside_capture(std::string_view call) const;

  struct Owner {
    std::shared_ptr<CudaDevice> device;
    cuda::EventHandle event;
  };
  Owner owner_;
  const bool timing_;
  mutable std::mutex mutex_;
  Recording recording_;
};

class CudaStream final : public Stream {
 public:
  CudaStream(std::shared_ptr<CudaStreamOwner> owner, std::shared_ptr<WorkErrors> errors);
  ~CudaStream() override;

  Device& device() const override { return *owner_->device; }
  bool done() const override;
  void synchronize() override;
  void record(Event& event) override;
  void wait(const Event& event) override;
  void copy_to_device(Address to, const void* from, std::size_t bytes) override;
  void copy_to_host(void* to, Address from, std::size_t bytes) override;
  void copy(Address to, Address from, std::size_t bytes) override;
  void fill(Address to, std::uint32_t pattern, std::size_t pattern_bytes, std::size_t count) override;
  void enqueue(std::function<void()> work) override;
  void launch(const Function& function, const LaunchConfig& config,
              std::span<void* const> parameters) override;
  void begin_capture() override;
  std::unique_ptr<Graph> end_capture() override;
  std::uint64_t capture_number() const override;
  bool keep_in_capture(std::shared_ptr<const void> object) override;
  std::uintptr_t native_handle() const override { return std::bit_cast<std::uintptr_t>(raw_); }

  cuda::RawStream raw() const { return raw_; }
  const std::shared_ptr<CudaStreamOwner>& owner() const { return owner_; }
  const std::shared_ptr<WorkErrors>& errors() const { return errors_; }
  void refuse_in_capture(std::string_view call) const;
  // The capture this stream takes part in, or nothing.
  std::shared_ptr<CudaCapture> capture() const;

 private:
  const cuda::Driver& driver() const { return owner_->device->driver(); }

  std::shared_ptr<CudaStreamOwner> owner_;
  const cuda::RawStream raw_;
  const std::shared_ptr<WorkErrors> errors_;
  const std::string text_;  // "stream of cuda:0", for messages
  mutable std::mutex mutex_;
  std::shared_ptr<CudaCapture> capture_;
  bool capture_origin_ = false;
};

// The object as this device's own, or an invalid_argument.
CudaStream& own_stream(Stream& stream, const Device& device, std::string_view call);

}  // namespace gpuforge::device
