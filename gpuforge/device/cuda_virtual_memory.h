// Virtual memory of the cuda device. Not installed.
#pragma once

#include "gpuforge/device/cuda_objects.h"
#include "gpuforge/device/virtual_memory.h"

namespace gpuforge::device {

class CudaVirtualMemory final : public VirtualMemory {
 public:
  // Lives in the device, which the objects it makes keep.
  CudaVirtualMemory(CudaDevice& device, std::size_t granularity)
      : device_(device), granularity_(granularity) {}

  std::size_t granularity() const override { return granularity_; }
  std::unique_ptr<AddressRange> reserve(std::size_t bytes, std::size_t alignment) override;
  std::shared_ptr<PhysicalBlock> make_block(std::size_t bytes) override;

 private:
  CudaDevice& device_;
  const std::size_t granularity_;
};

// nullptr for a GPU or a driver without it.
std::unique_ptr<CudaVirtualMemory> make_cuda_virtual_memory(CudaDevice& device);

}  // namespace gpuforge::device
