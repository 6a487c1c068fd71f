// Pinned memory that pageable bytes pass through on their way. Whoever has a better source of it gives the
// transfer engine its own.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "gpuforge/device/device.h"

namespace gpuforge::memory {

// Thread-safe. The engine asks for pieces of one size and has only so many at a time (LaneLimits).
class StagingBuffers {
 public:
  virtual ~StagingBuffers() = default;
  virtual void* take(std::size_t bytes) = 0;  // out_of_memory when there is none
  virtual void give_back(void* buffer, std::size_t bytes) noexcept = 0;
};

// Keeps what comes back for the next of the same size, and frees it all in the end: free_pinned may wait for
// the device.
class PinnedStaging final : public StagingBuffers {
 public:
  explicit PinnedStaging(std::shared_ptr<device::Device> device) : device_(std::move(device)) {}
  ~PinnedStaging() override;
  void* take(std::size_t bytes) override;
  void give_back(void* buffer, std::size_t bytes) noexcept override;

 private:
  struct Kept {
    void* buffer;
    std::size_t bytes;
  };
  const std::shared_ptr<device::Device> device_;
  std::mutex mutex_;
  std::vector<Kept> kept_;
};

}  // namespace gpuforge::memory
