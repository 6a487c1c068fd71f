// Host memory that copies can overlap with, kept for reuse: pinning costs a thousand times more than taking a
// block from a list. Blocks are powers of two and one and a half times those (at most a third of one is not
// asked for); what is kept counts.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "gpuforge/device/device.h"

namespace gpuforge::memory {

struct PinnedStatistics {
  std::size_t quota_bytes = 0;
  std::size_t live_bytes = 0;      // handed out, as blocks
  std::size_t reserved_bytes = 0;  // with those that are kept
  std::size_t peak_reserved_bytes = 0;
  std::size_t allocations = 0;
  std::size_t reuses = 0;
};

// Thread-safe.
class PinnedPool {
 public:
  // `quota_bytes` 0: as much as the host gives.
  explicit PinnedPool(std::shared_ptr<device::Device> device, std::size_t quota_bytes = 0);
  ~PinnedPool();
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  // 256-byte aligned or better; nullptr for zero bytes. out_of_memory names wanted, quota and reserved bytes.
  void* allocate(std::size_t bytes);
  // No queued work uses it any more. `bytes` as in allocate.
  void free(void* address, std::size_t bytes) noexcept;
  // Gives back what is kept. The device may wait for its work (free_pinned).
  void trim() noexcept;
  PinnedStatistics statistics() const;
  device::Device& device() const { return *device_; }

  // The block a request gets.
  static std::size_t block_bytes(std::size_t bytes);

 private:
  const std::shared_ptr<device::Device> device_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<void*>> kept_;
  PinnedStatistics statistics_;
};

// Owns one block of a pool.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  PinnedBuffer(std::shared_ptr<PinnedPool> pool, std::size_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(PinnedBuffer&& other) noexcept;
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<PinnedPool> pool_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace gpuforge::memory
