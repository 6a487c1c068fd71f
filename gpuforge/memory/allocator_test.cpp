#include "gpuforge/memory/allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "gpuforge/base/error.h"
#include "gpuforge/device/cpu_device.h"

namespace gpuforge::memory {
namespace {

// Remembers what is out, to see that buffers give back exactly what they took.
class CountingAllocator final : public Allocator {
 public:
  explicit CountingAllocator(std::shared_ptr<device::Device> device) : device_(std::move(device)) {}
  device::Device& device() const override { return *device_; }
  device::Address allocate(std::size_t bytes, device::Stream& stream) override {
    const device::Address address = device_->allocate(bytes, stream);
    if (address != 0) live[address] = bytes;
    return address;
  }
  void free(device::Address address, std::size_t bytes, device::Stream& stream) noexcept override {
    const auto found = live.find(address);
    wrong_frees += found == live.end() || found->second != bytes ? 1 : 0;
    if (found != live.end()) live.erase(found);
    last_stream = &stream;
    device_->free(address, stream);
  }

  std::map<device::Address, std::size_t> live;
  int wrong_frees = 0;
  device::Stream* last_stream = nullptr;

 private:
  std::shared_ptr<device::Device> device_;
};

class BufferTest : public testing::Test {
 protected:
  std::shared_ptr<device::Device> device_ = device::make_cpu_device();
  std::shared_ptr<device::Stream> stream_ = device_->make_stream();
  std::shared_ptr<CountingAllocator> allocator_ = std::make_shared<CountingAllocator>(device_);
};

TEST_F(BufferTest, DefaultOwnsNothing) {
  Buffer buffer;
  EXPECT_EQ(buffer.address(), 0u);
  EXPECT_EQ(buffer.bytes(), 0u);
  buffer.reset();
}

TEST_F(BufferTest, MovingTakesOver) {
  Buffer first(allocator_, 100, stream_);
  const device::Address address = first.address();
  Buffer second(std::move(first));
  EXPECT_EQ(first.address(), 0u);  // NOLINT: moved-from buffers are empty by promise
  EXPECT_EQ(second.address(), address);
  Buffer third(allocator_, 200, stream_);
  third = std::move(second);
  EXPECT_EQ(third.address(), address);
  EXPECT_EQ(third.bytes(), 100u);
  EXPECT_EQ(allocator_->live.size(), 1u);
  Buffer& same = third;
  third = std::move(same);
  EXPECT_EQ(third.address(), address);
  third.reset();
  third.reset();
  EXPECT_TRUE(allocator_->live.empty());
  EXPECT_EQ(allocator_->wrong_frees, 0);
}

TEST_F(BufferTest, ZeroBytesNeedNoFree) {
  {
    Buffer buffer(allocator_, 0, stream_);
    EXPECT_EQ(buffer.address(), 0u);
  }
  EXPECT_EQ(allocator_->wrong_frees, 0);
}

TEST_F(BufferTest, FreesOnTheStreamItWasGiven) {
  const auto other = device_->make_stream();
  Buffer buffer(allocator_, 64, stream_);
  buffer.set_stream(other);
  buffer.reset();
  EXPECT_EQ(allocator_->last_stream, other.get());
}

TEST_F(BufferTest, OutlivesEveryOtherHandle) {
  Buffer buffer(make_device_allocator(device_), 1 << 20, stream_);
  stream_->fill(buffer.address(), 1, 1, 1 << 20);
  stream_.reset();
  allocator_.reset();
  device_.reset();
  buffer.reset();
  EXPECT_EQ(buffer.address(), 0u);
}

TEST_F(BufferTest, RefusesWhatIsMissingOrForeign) {
  const auto elsewhere = device::make_cpu_device();
  EXPECT_THROW(Buffer(nullptr, 8, stream_), Error);
  EXPECT_THROW(Buffer(allocator_, 8, nullptr), Error);
  EXPECT_THROW(make_device_allocator(nullptr), Error);
  try {
    Buffer(allocator_, 8, elsewhere->make_stream());
    FAIL() << "a stream of another device was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.message(), testing::HasSubstr("stream"));
  }
}

}  // namespace
}  // namespace gpuforge::memory
