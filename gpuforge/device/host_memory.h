// The memory of a device that works on the host: aligned blocks, counted, never more than the machine has.
// Not installed.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gpuforge/device/device.h"

namespace gpuforge::device {

inline constexpr std::size_t kHostAlignment = 256;

// Thread-safe. Blocks still allocated go with it. Queued work keeps it alive, and not the device.
class HostMemory {
 public:
  explicit HostMemory(std::string device_name) : device_name_(std::move(device_name)) {}
  virtual ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  // Any block: nullptr for zero bytes. out_of_memory with `what`, wanted and free bytes; `margin_bytes` are
  // added to what is taken, and not to what the message says.
  void* allocate(std::size_t bytes, std::string_view what, std::size_t margin_bytes = 0);
  // An address that is not a block of this memory is left alone.
  void free(void* address) noexcept;
  bool owns(const void* address) const;
  // Counts memory that lies elsewhere: a block of virtual memory. As allocate: out_of_memory.
  void take(std::size_t bytes, std::string_view what);
  void give_back(std::size_t bytes) noexcept;

  // What the device calls for its own memory.
  virtual Address allocate_on_device(std::size_t bytes);
  virtual void free_on_device(Address address) noexcept;
  // A copy or fill has written these bytes, which may be anywhere.
  virtual void written(Address, std::size_t) noexcept {}
  // A block has been mapped at this address, or is about to be taken away from it. `used`: it was mapped
  // before, so its bytes may have values.
  virtual void mapped(Address, std::size_t, bool) {}
  virtual void unmapped(Address) noexcept {}

  const std::string& device_name() const { return device_name_; }

 private:
  void check_room(std::size_t bytes, std::string_view what);
  [[noreturn]] void fail_out_of_memory(std::string_view what, std::size_t bytes,
                                       std::size_t free_bytes) const;

  const std::string device_name_;
  mutable std::mutex mutex_;
  std::unordered_map<void*, std::size_t> blocks_;
  std::size_t allocated_bytes_ = 0;
  std::size_t unchecked_bytes_ = 0;  // allocated since the machine's free memory was last read
};

}  // namespace gpuforge::device
