#include "gpuforge/memory/allocator.h"

#include "gpuforge/base/error.h"

namespace gpuforge::memory {
namespace {

class DeviceAllocator final : public Allocator {
 public:
  explicit DeviceAllocator(std::shared_ptr<device::Device> device) : device_(std::move(device)) {}

  device::Device& device() const override { return *device_; }
  device::Address allocate(std::size_t bytes, device::Stream& stream) override {
    return device_->allocate(bytes, stream);
  }
  void free(device::Address address, std::size_t, device::Stream& stream) noexcept override {
    if (address != 0) device_->free(address, stream);
  }

 private:
  std::shared_ptr<device::Device> device_;
};

}  // namespace

std::shared_ptr<Allocator> make_device_allocator(std::shared_ptr<device::Device> device) {
  GPUFORGE_CHECK(device != nullptr, "memory: an allocator needs a device, and none was given");
  return std::make_shared<DeviceAllocator>(std::move(device));
}

Buffer::Buffer(std::shared_ptr<Allocator> allocator, std::size_t bytes,
               std::shared_ptr<device::Stream> stream)
    : allocator_(std::move(allocator)), stream_(std::move(stream)), bytes_(bytes) {
  GPUFORGE_CHECK(allocator_ != nullptr && stream_ != nullptr,
                 "memory: a buffer needs an allocator and a stream, and one of them was not given");
  GPUFORGE_CHECK(&allocator_->device() == &stream_->device(),
                 "memory: a buffer of {} was asked for on a stream of {}", allocator_->device().facts().name,
                 stream_->device().facts().name);
  address_ = allocator_->allocate(bytes_, *stream_);
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    reset();
    allocator_ = std::exchange(other.allocator_, nullptr);
    stream_ = std::exchange(other.stream_, nullptr);
    address_ = std::exchange(other.address_, 0);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

void Buffer::reset() noexcept {
  if (address_ != 0) allocator_->free(address_, bytes_, *stream_);
  address_ = 0;
  bytes_ = 0;
  // The stream goes before the allocator, which may hold the last reference to the device both belong to.
  stream_ = nullptr;
  allocator_ = nullptr;
}

}  // namespace gpuforge::memory
