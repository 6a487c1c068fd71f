// The memory of a sim device: blocks with red zones around them, known to the simulator. Not installed.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "gpuforge/device/host_memory.h"
#include "gpuforge/sim/memory.h"

namespace gpuforge::device {

// Bytes on both sides of a block that belong to nobody: an access a little past its end finds no neighbour.
inline constexpr std::size_t kRedZoneBytes = 512;
// What fresh memory holds: not a number in every floating-point format, and the same in every run.
inline constexpr unsigned char kFreshByte = 0xFF;

class SimMemory final : public HostMemory {
 public:
  explicit SimMemory(std::string device_name)
      : HostMemory(std::move(device_name)), space_(std::make_shared<sim::Memory>()) {}

  const std::shared_ptr<sim::Memory>& space() const { return space_; }

  Address allocate_on_device(std::size_t bytes) override;
  void free_on_device(Address address) noexcept override;
  void written(Address address, std::size_t bytes) noexcept override;
  void mapped(Address address, std::size_t bytes, bool used) override;
  void unmapped(Address address) noexcept override;

  void lend(Address address, std::size_t bytes, std::string label);
  void take_back(Address address) noexcept;

  // Held while a kernel runs: one at a time, since the simulator's shadows of this memory are not
  // thread-safe. Blocks freed meanwhile stay readable until it ends.
  class Launch {
   public:
    explicit Launch(SimMemory& memory);
    ~Launch();
    Launch(const Launch&) = delete;
    Launch& operator=(const Launch&) = delete;

   private:
    SimMemory& memory_;
    std::unique_lock<std::mutex> lock_;
  };

 private:
  void release_old_blocks() noexcept;

  struct Retired {
    void* block = nullptr;
    std::size_t bytes = 0;
  };
  const std::shared_ptr<sim::Memory> space_;
  std::mutex launch_mutex_;
  std::mutex mutex_;  // of what follows
  bool launching_ = false;
  std::map<Address, std::size_t> sizes_;
  std::deque<Retired> retired_;  // freed, but not given back yet, so that use after free finds no new owner
  std::size_t retired_bytes_ = 0;
};

}  // namespace gpuforge::device
