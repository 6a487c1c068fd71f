// Room memory: where bytes come from. Array and every other user allocate through Allocator; pools, limits
// and logs are allocators that wrap another. Not here: shapes (array/), how a device does it (device/).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "gpuforge/device/device.h"

namespace gpuforge::memory {

// Something holds while a copy of it lives. May be empty.
using Hold = std::shared_ptr<const void>;

// Thread-safe. Memory is ready for work queued on `stream` after the call; freed memory is reused only after
// work queued on `stream` before the call. While `stream` captures: what is allocated belongs to the graph,
// which keeps it as long as it lives, also when it is freed; until then it is reused by that stream in that
// capture at most.
class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual device::Device& device() const = 0;
  // At least 256-byte aligned; zero bytes give address 0. out_of_memory names wanted and free bytes.
  virtual device::Address allocate(std::size_t bytes, device::Stream& stream) = 0;
  virtual void free(device::Address address, std::size_t bytes, device::Stream& stream) noexcept = 0;

  // Whether blocks may lose their memory while nobody uses them (pool.h). Then use() comes before work is
  // queued on one: it has its memory again for what `stream` does from then on, and keeps it at least until
  // that is done. The hold covers the time until the work is queued.
  virtual bool evicts() const { return false; }
  virtual Hold use(device::Address, device::Stream&) { return {}; }
  // The block stays where it is while the hold lives: its address is known outside, or to a graph.
  virtual Hold pin(device::Address, std::size_t) { return {}; }
};

// Straight to the device, nothing kept.
std::shared_ptr<Allocator> make_device_allocator(std::shared_ptr<device::Device> device);

// Owns one allocation and the stream it is freed on.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<Allocator> allocator, std::size_t bytes, std::shared_ptr<device::Stream> stream);
  ~Buffer() { reset(); }
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;

  device::Address address() const { return address_; }
  std::size_t bytes() const { return bytes_; }
  device::Stream& stream() const { return *stream_; }
  // The stream whose order the free will follow from now on; the caller has ordered it after all uses.
  void set_stream(std::shared_ptr<device::Stream> stream) { stream_ = std::move(stream); }
  void reset() noexcept;

 private:
  std::shared_ptr<Allocator> allocator_;
  std::shared_ptr<device::Stream> stream_;
  device::Address address_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace gpuforge::memory
