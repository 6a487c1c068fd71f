// The memory of a cpu device: aligned blocks, counted, never more than the machine has. Not installed.
#pragma once

#include <cstddef>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "gpuforge/device/device.h"

namespace gpuforge::device {

inline constexpr std::size_t kCpuAlignment = 256;

// Thread-safe. Blocks still allocated go with it.
class CpuMemory {
 public:
  CpuMemory() = default;
  ~CpuMemory();
  CpuMemory(const CpuMemory&) = delete;
  CpuMemory& operator=(const CpuMemory&) = delete;

  // nullptr for zero bytes. out_of_memory with `what`, wanted and free bytes.
  void* allocate(std::size_t bytes, std::string_view what);
  // An address that is not a block of this memory is left alone.
  void free(void* address) noexcept;

 private:
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> blocks_;
  std::size_t allocated_bytes_ = 0;
  std::size_t unchecked_bytes_ = 0;  // allocated since the machine's free memory was last read
};

}  // namespace gpuforge::device
