#include "gpuforge/memory/allocator.h"

#include <mutex>

#include "gpuforge/base/error.h"
#include "gpuforge/memory/capture_memory.h"

namespace gpuforge::memory {
namespace {

class DeviceAllocator final : public Allocator, public std::enable_shared_from_this<DeviceAllocator> {
 public:
  explicit DeviceAllocator(std::shared_ptr<device::Device> device)
      : device_(std::move(device)),
        captured_([this](std::size_t bytes, unsigned) { return allocate_idle(bytes); },
                  [this](device::Address address, std::size_t, unsigned, device::Stream* stream) {
                    device_->free(address, stream != nullptr ? *stream : *quiet_);
                  },
                  nullptr) {}

  device::Device& device() const override { return *device_; }
  device::Address allocate(std::size_t bytes, device::Stream& stream) override {
    if (bytes > 0 && device_->capturing() && stream.capturing() && &stream.device() == device_.get()) {
      return captured_.allocate(bytes, stream, 0, shared_from_this());
    }
    return device_->allocate(bytes, stream);
  }
  void free(device::Address address, std::size_t, device::Stream& stream) noexcept override {
    if (address != 0 && !captured_.free(address, stream)) device_->free(address, stream);
  }

 private:
  device::Address allocate_idle(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (quiet_ == nullptr) quiet_ = device_->make_stream();
    const device::Address address = device_->allocate(bytes, *quiet_);
    quiet_->synchronize();
    return address;
  }

  std::shared_ptr<device::Device> device_;
  std::mutex mutex_;
  std::shared_ptr<device::Stream> quiet_;  // runs nothing but the allocations for captures
  CaptureMemory captured_;
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
