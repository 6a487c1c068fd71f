#include "gpuforge/device/cuda_virtual_memory.h"

#include <mutex>
#include <utility>
#include <vector>

#include "gpuforge/device/mapped_blocks.h"

namespace gpuforge::device {
namespace {

using cuda::Result;

cuda::PhysicalMemoryProperties properties(const CudaDevice& device) {
  cuda::PhysicalMemoryProperties result;
  result.location.id = device.facts().ordinal;
  return result;
}

class CudaPhysicalBlock final : public PhysicalBlock {
 public:
  CudaPhysicalBlock(std::shared_ptr<CudaDevice> device, cuda::PhysicalMemoryHandle memory, std::size_t bytes)
      : owner_{std::move(device), std::move(memory)}, bytes_(bytes) {}
  ~CudaPhysicalBlock() override { retire(std::move(owner_)); }
  std::size_t bytes() const override { return bytes_; }
  const CudaDevice& device() const { return *owner_.device; }
  cuda::RawPhysicalMemory raw() const { return owner_.memory.get(); }

 private:
  struct Owner {
    std::shared_ptr<CudaDevice> device;
    cuda::PhysicalMemoryHandle memory;
  };
  Owner owner_;
  const std::size_t bytes_;
};

// The addresses with all that is mapped there. Destroyed by retire, since no driver call is allowed in a host
// function.
struct RangeOwner {
  RangeOwner(std::shared_ptr<CudaDevice> kept_device, cuda::DevicePointer begin, std::size_t size)
      : device(std::move(kept_device)), address(begin), bytes(size) {}
  ~RangeOwner() {
    try {
      const CurrentContext scope = device->current();
      for (const auto& [offset, block] : mapped.all()) {
        static_cast<void>(device->driver().mem_unmap.raw(address + offset, block->bytes()));
      }
      static_cast<void>(device->driver().mem_address_free.raw(address, bytes));
    } catch (...) {
    }
  }
  RangeOwner(const RangeOwner&) = delete;
  RangeOwner& operator=(const RangeOwner&) = delete;

  const std::shared_ptr<CudaDevice> device;
  const cuda::DevicePointer address;
  const std::size_t bytes;
  MappedBlocks mapped;
};

class CudaAddressRange final : public AddressRange {
 public:
  CudaAddressRange(std::unique_ptr<RangeOwner> owner, std::size_t granularity)
      : owner_(std::move(owner)), granularity_(granularity) {}
  ~CudaAddressRange() override { retire(std::move(owner_)); }

  std::uint64_t address() const override { return owner_->address; }
  std::size_t bytes() const override { return owner_->bytes; }

  void map(std::size_t offset, std::span<const std::shared_ptr<PhysicalBlock>> blocks) override {
    const CudaDevice& device = *owner_->device;
    const std::lock_guard lock(mutex_);
    owner_->mapped.check_map(offset, blocks, owner_->bytes, granularity_, device.name());
    if (blocks.empty()) return;
    const auto object = [&] { return "virtual memory of " + device.name(); };
    const CurrentContext scope = device.current();
    std::size_t at = offset;
    try {
      for (const auto& block : blocks) {
        const auto* const own = dynamic_cast<const CudaPhysicalBlock*>(block.get());
        GPUFORGE_CHECK(own != nullptr && &own->device() == &device,
                       "{}: virtual memory: map got a block of another device", device.name());
        device.driver().mem_map(object, owner_->address + at, own->bytes(), 0, own->raw(), 0);
        owner_->mapped.add(at, block);
        at += own->bytes();
      }
      cuda::MemoryAccessDescription access;
      access.location.id = device.facts().ordinal;
      device.driver().mem_set_access(object, owner_->address + offset, at - offset, &access, 1);
    } catch (...) {
      unmap_locked(offset, at - offset);
      throw;
    }
  }

  void unmap(std::size_t offset, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    unmap_locked(offset, bytes);
  }

 private:
  void unmap_locked(std::size_t offset, std::size_t bytes) {
    const CudaDevice& device = *owner_->device;
    const CurrentContext scope = device.current();
    std::size_t at = offset;
    // The driver unmaps one mapping a call.
    for (const auto& block : owner_->mapped.take(offset, bytes, device.name())) {
      static_cast<void>(device.driver().mem_unmap.raw(owner_->address + at, block->bytes()));
      at += block->bytes();
    }
  }

  std::unique_ptr<RangeOwner> owner_;
  const std::size_t granularity_;
  std::mutex mutex_;
};

}  // namespace

std::unique_ptr<AddressRange> CudaVirtualMemory::reserve(std::size_t bytes, std::size_t alignment) {
  GPUFORGE_CHECK(bytes > 0, "{}: virtual memory: a range of addresses needs a size", device_.name());
  check_multiple(bytes, granularity_, "a range", device_.name());
  check_multiple(alignment, granularity_, "an alignment", device_.name());
  const CurrentContext scope = device_.current();
  cuda::DevicePointer address = 0;
  const Result result = device_.driver().mem_address_reserve.raw(&address, bytes, alignment, 0, 0);
  if (result != Result::success) {
    throw Error(
        result == Result::out_of_memory ? ErrorCode::out_of_memory : ErrorCode::cuda,
        format_text("{}: virtual memory: a range of {} bytes wanted, and no such addresses are free: {}",
                    device_.name(), bytes, device_.driver().describe(result)));
  }
  auto owner = std::make_unique<RangeOwner>(device_.self(), address, bytes);
  return std::make_unique<CudaAddressRange>(std::move(owner), granularity_);
}

std::shared_ptr<PhysicalBlock> CudaVirtualMemory::make_block(std::size_t bytes) {
  GPUFORGE_CHECK(bytes > 0, "{}: virtual memory: a block needs a size", device_.name());
  check_multiple(bytes, granularity_, "a block", device_.name());
  const CurrentContext scope = device_.current();
  const cuda::PhysicalMemoryProperties wanted = properties(device_);
  cuda::RawPhysicalMemory raw = 0;
  Result result = Result::out_of_memory;
  if (bytes <= device_.facts().memory_bytes) {
    result = device_.driver().mem_create.raw(&raw, bytes, &wanted, 0);
    // The driver's own pool may keep what was freed there.
    if (result == Result::out_of_memory && device_.trim_pool()) {
      result = device_.driver().mem_create.raw(&raw, bytes, &wanted, 0);
    }
  }
  if (result == Result::out_of_memory) {
    throw Error(ErrorCode::out_of_memory,
                format_text("{}: a block of memory of {} bytes wanted, {} bytes are free", device_.name(),
                            bytes, device_.memory_info().free_bytes));
  }
  if (result != Result::success) {
    throw Error(ErrorCode::cuda, format_text("{}: a block of memory of {} bytes failed: {}", device_.name(),
                                             bytes, device_.driver().describe(result)));
  }
  return std::make_shared<CudaPhysicalBlock>(device_.self(), device_.own<cuda::PhysicalMemoryHandle>(raw),
                                             bytes);
}

std::unique_ptr<CudaVirtualMemory> make_cuda_virtual_memory(CudaDevice& device) {
  const cuda::Driver& driver = device.driver();
  cuda::RawDevice raw = 0;
  int supported = 0;
  if (!driver.mem_create.available() || !driver.mem_set_access.available() ||
      driver.device_get.raw(&raw, device.facts().ordinal) != Result::success ||
      driver.device_get_attribute.raw(&supported, cuda::DeviceAttribute::virtual_memory_supported, raw) !=
          Result::success ||
      supported == 0) {
    return nullptr;
  }
  const CurrentContext scope = device.current();
  const cuda::PhysicalMemoryProperties wanted = properties(device);
  std::size_t granularity = 0;
  if (driver.mem_get_allocation_granularity.raw(&granularity, &wanted, cuda::GranularityOption::minimum) !=
          Result::success ||
      granularity == 0) {
    return nullptr;
  }
  return std::make_unique<CudaVirtualMemory>(device, granularity);
}

}  // namespace gpuforge::device
