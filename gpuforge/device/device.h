// Room device: one interface, three machines. A Device makes Streams, Events, Modules and memory; everything
// that is ordered happens on a Stream. Implementations: CudaDevice (driver API), CpuDevice (host threads; no
// kernels), and SimDevice (the PTX virtual machine).
//
// Rules every implementation keeps (device_contract.h tests them):
// - No call waits for queued work, except the ones named synchronize, copies from or to pageable host memory
//   (a driver may stage them), and what NVIDIA's driver does only at rest: load_module, destroying a Module,
//   free_pinned.
// - Objects keep their Device alive and may be destroyed in any order, with work queued, or after an error.
// - Objects of another Device are refused with an invalid_argument.
// - Every failure is an Error that names the device.
// Not here: what to allocate from (memory/), what to load (jit/), shapes (array/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/device/compute_split.h"
#include "gpuforge/device/launch.h"
#include "gpuforge/device/virtual_memory.h"

namespace gpuforge::device {

enum class DeviceKind { cuda, sim, cpu };
std::string_view name(DeviceKind kind);

// A place in a device's memory. On cpu and sim it is the host address.
using Address = std::uint64_t;

struct DeviceFacts {
  std::string name;     // "cuda:0", "sim", "cpu": what --device takes
  std::string product;  // "NVIDIA H200", the CPU's model name
  DeviceKind kind = DeviceKind::cpu;
  int ordinal = 0;
  int compute_major = 0;  // 9 and 0 for sm_90; zero where kernels do not run
  int compute_minor = 0;
  std::string pretended_arch;  // sim: the chip it plays, "sm_90a"; empty elsewhere
  std::size_t memory_bytes = 0;
  int multiprocessors = 0;  // CPU: hardware threads
  std::size_t l2_bytes = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  int clock_khz = 0;
  bool cluster_launch = false;
  bool cooperative_launch = false;
  bool stream_ordered_memory = true;  // false: a driver without pools, where free may wait for the GPU
  int driver_version = 0;             // 13000 for CUDA 13.0
  LaunchLimits launch;
};

struct MemoryInfo {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
};

class Device;
class Stream;

// A point in a stream's order, with a time when made with timing.
class Event {
 public:
  virtual ~Event() = default;
  virtual Device& device() const = 0;
  virtual bool done() const = 0;  // never recorded counts as done
  virtual void synchronize() = 0;
  // Milliseconds from `earlier` to this; both recorded, done and made with timing, else invalid_argument.
  virtual float elapsed_ms_since(const Event& earlier) const = 0;
};

// A recorded piece of work that replays as one.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual std::size_t node_count() const = 0;
  virtual void launch(Stream& stream) = 0;
  // Takes over the work of `other`, recorded with the same shape; if it does not fit, unsupported, and this
  // is unchanged.
  virtual void update(const Graph& other) = 0;
};

// A launchable entry of a Module; keeps it alive.
class Function {
 public:
  virtual ~Function() = default;
  virtual const FunctionFacts& facts() const = 0;
  // Blocks that fit on one multiprocessor at once.
  virtual int max_active_blocks(int threads_per_block, std::size_t dynamic_shared_bytes) const = 0;
  // Clusters of that block, shared memory and cluster that fit on the device at once; fewer than its
  // multiprocessors would hold, for all blocks of one are on neighbours. The grid does not matter. 0 where
  // the device has no clusters.
  virtual int max_active_clusters(const LaunchConfig& config) const = 0;
};

class Module {
 public:
  virtual ~Module() = default;
  // invalid_argument naming the entries there are when `entry` is not one (where the device can tell). Who
  // knows how many parameters it has says so: NVIDIA's driver has no such question, and asking for one too
  // many is an error that compute-sanitizer reports.
  virtual std::shared_ptr<Function> function(std::string_view entry,
                                             std::optional<std::size_t> parameter_count = {}) = 0;
};

// An ordered queue of work. Host memory given to an asynchronous call must stay until the work is done.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  virtual ~Stream() = default;
  virtual Device& device() const = 0;

  virtual bool done() const = 0;
  virtual void synchronize() = 0;
  virtual void record(Event& event) = 0;
  virtual void wait(const Event& event) = 0;

  virtual void copy_to_device(Address to, const void* from, std::size_t bytes) = 0;
  virtual void copy_to_host(void* to, Address from, std::size_t bytes) = 0;
  virtual void copy(Address to, Address from, std::size_t bytes) = 0;
  // `count` times the low `pattern_bytes` (1, 2 or 4) of `pattern`.
  virtual void fill(Address to, std::uint32_t pattern, std::size_t pattern_bytes, std::size_t count) = 0;
  // Runs on a thread of the device's choice, perhaps one function of all streams at a time. It must not call
  // the device, though it may hold the last reference to its objects. What it throws is an Error at
  // synchronize.
  virtual void enqueue(std::function<void()> work) = 0;
  // Checks `config` first (check_launch). `parameters[i]` points at the i-th argument's bytes.
  virtual void launch(const Function& function, const LaunchConfig& config,
                      std::span<void* const> parameters) = 0;

  // Between begin and end, work on this stream, and on streams that wait for its events, is recorded and not
  // run. All of it must be waited for by this stream before the end: otherwise, an invalid_argument, and the
  // capture is dropped. Refused meanwhile, with the capture unharmed: done, synchronize, allocate and a
  // graph's launch on these streams, Device::synchronize, and waiting for an event recorded outside. An event
  // recorded inside has no state to ask for until it is recorded again.
  virtual void begin_capture() = 0;
  virtual std::unique_ptr<Graph> end_capture() = 0;
  // Whether work is recorded now: it began a capture that is open, or joined one.
  bool capturing() const { return capture_number() != 0; }
  // Which capture: each of a device has a number of its own, from 1 on; 0 for none.
  virtual std::uint64_t capture_number() const { return 0; }
  // While capturing: the object lives as long as the graph and its launches under way (memory that the work
  // uses). Otherwise false, and nothing is kept.
  virtual bool keep_in_capture(std::shared_ptr<const void>) { return false; }
  // The driver's own handle (a CUstream), for those who share work with other libraries; 0 where there is
  // none.
  virtual std::uintptr_t native_handle() const { return 0; }
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  virtual ~Device() = default;
  virtual const DeviceFacts& facts() const = 0;
  virtual MemoryInfo memory_info() const = 0;

  // Stream-ordered. Zero bytes give address 0. out_of_memory names wanted and free bytes.
  virtual Address allocate(std::size_t bytes, Stream& stream) = 0;
  // Reused only after work queued on `stream` before. In a capture: when that is over. With a stream of
  // another device nothing is freed.
  virtual void free(Address address, Stream& stream) noexcept = 0;
  // Host memory that copies can overlap with. out_of_memory when the host refuses.
  virtual void* allocate_pinned(std::size_t bytes) = 0;
  virtual void free_pinned(void* address) noexcept = 0;
  // Addresses and memory apart, for allocators. nullptr where the device has none. Lives as long as the
  // device.
  virtual VirtualMemory* virtual_memory() { return nullptr; }

  // The multiprocessors in disjoint parts, one for each share (over 0, together at most 1). They come in the
  // driver's steps, so that a part has about its share, and some may be left over. unsupported, with the
  // reason, where the device cannot.
  virtual std::vector<std::shared_ptr<ComputePart>> split_compute(std::span<const double> shares);

  // Higher is more urgent, 0 is normal; out of the device's range is clamped.
  virtual std::shared_ptr<Stream> make_stream(int priority = 0) = 0;
  // A stream that somebody else made and will destroy, after all work given to it here is done. The same
  // handle gives the same Stream while it lives. unsupported where streams have no handles.
  virtual std::shared_ptr<Stream> adopt_stream(std::uintptr_t native_handle);
  // Whether a stream is capturing; cheap, for those who would otherwise ask a stream at every step.
  virtual bool capturing() const { return false; }
  virtual std::unique_ptr<Event> make_event(bool timing = true) = 0;
  // A cubin or PTX. cpu: unsupported.
  virtual std::shared_ptr<Module> load_module(std::span<const std::byte> image, std::string_view name) = 0;

  // Waits for all work of all streams, and throws what their enqueued work threw.
  virtual void synchronize() = 0;
};

}  // namespace gpuforge::device
